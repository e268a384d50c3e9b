package signin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/store"
	"concordat/view"
	"concordat/web/lti"
	"concordat/web/platforms"
)

// CheckPlatforms reports faults in the registered platforms, without contacting them. A folder that does not yet contain a site has no
// platforms.
func CheckPlatforms(ctx context.Context, a *cli.Site, c *config.Config) error {
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, instance.StoreName)); err != nil && c.Store.URL == "" {
		return nil
	}
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		all, err := o.Store.LTI.LTIPlatforms(ctx)
		if err != nil {
			return err
		}
		var bad []string
		for _, p := range all {
			if err := platforms.Check(p, c.LTI.Private); err != nil {
				bad = append(bad, fmt.Sprintf("platform %s: %v", p.ID, err))
			}
			if len(p.Deployments) == 0 {
				fmt.Fprintf(a.Stderr, "platform %s has no deployments, so nothing from this platform is accepted\n", p.ID)
			}
		}
		if len(all) > 0 && !instance.OverTLS(c) && !c.LTI.Private {
			bad = append(bad, "serve.url: want https, because learning platforms are registered and browsers keep no cookies in their frames without https")
		}
		if len(bad) > 0 {
			return cli.Usagef("%s", strings.Join(bad, "\n"))
		}
		return nil
	})
}

func LTICommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "lti", Short: "Manage learning platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	platform := &cobra.Command{Use: "platform", Short: "Register, list and remove learning platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	platform.AddCommand(a.ltiAddCommand(), a.ltiListCommand(), a.ltiRemoveCommand())
	c.AddCommand(platform, a.ltiShowCommand(), a.ltiRotateCommand())
	return c
}

// ltiPresets contains the settings that all platforms of a kind have in common.
var ltiPresets = map[string]func(base string) store.LTIPlatform{
	"moodle": func(base string) store.LTIPlatform {
		return store.LTIPlatform{Name: "Moodle", Issuer: base, AuthURL: base + "/mod/lti/auth.php", TokenURL: base + "/mod/lti/token.php",
			KeysURL: base + "/mod/lti/certs.php"}
	},
	"canvas": func(base string) store.LTIPlatform {
		const sso = "https://sso.canvaslms.com"
		return store.LTIPlatform{Name: "Canvas", Issuer: "https://canvas.instructure.com", AuthURL: sso + "/api/lti/authorize_redirect",
			TokenURL: sso + "/login/oauth2/token",
			KeysURL:  sso + "/api/lti/security/jwks", Hosts: []string{strings.TrimPrefix(base, "https://"), ".inscloudgate.net"}}
	},
}

func (a *commands) ltiAddCommand() *cobra.Command {
	var p store.LTIPlatform
	var kind, base string
	c := &cobra.Command{
		Use: "add ID", Short: "Register a learning platform", Args: cobra.ExactArgs(1),
		Long: `Add registers a learning platform under a short name. --kind moodle or --kind canvas, with --url, fills in the
addresses; other flags override them. concordat lti show prints what to enter at the platform.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			one := p
			if kind != "" {
				preset, ok := ltiPresets[kind]
				if !ok || base == "" {
					return cli.Usagef("--kind must be moodle or canvas, and requires --url, such as https://moodle.example.edu")
				}
				one = fillLTI(p, preset(strings.TrimRight(base, "/")))
			}
			one.ID, one.Made = args[0], time.Now()
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if err := platforms.Check(one, o.Config.LTI.Private); err != nil {
					return cli.Usage(err)
				}
				if _, err := o.Store.LTI.LTIPlatform(cmd.Context(), one.ID); err == nil {
					return fmt.Errorf("platform %s: %w", one.ID, concordat.ErrExists)
				}
				if err := o.Store.LTI.PutLTIPlatform(cmd.Context(), one); err != nil {
					return err
				}
				a.Say("platform %s is registered; deployments: %s", one.ID, strings.Join(one.Deployments, ", "))
				return nil
			})
		},
	}
	f := c.Flags()
	f.StringVar(&kind, "kind", "", "kind of platform: moodle or canvas")
	f.StringVar(&base, "url", "", "address of the platform, for use with --kind")
	f.StringVar(&p.Name, "name", "", "display name of the platform")
	f.StringVar(&p.Issuer, "issuer", "", "issuer of the platform, also called platform ID")
	f.StringVar(&p.Client, "client", "", "client ID assigned by the platform")
	f.StringVar(&p.AuthURL, "auth-url", "", "authentication request address")
	f.StringVar(&p.TokenURL, "token-url", "", "access token address")
	f.StringVar(&p.TokenAudience, "token-audience", "", "audience of token requests (default: the access token address)")
	f.StringVar(&p.KeysURL, "keys-url", "", "public keyset address")
	f.StringSliceVar(&p.Deployments, "deployment", nil, `deployment IDs, or "*" for any`)
	f.StringSliceVar(&p.Hosts, "host", nil, "additional hosts of the platform's services; a leading dot includes subdomains")
	return c
}

// fillLTI returns p with missing values filled in from a preset.
func fillLTI(p, preset store.LTIPlatform) store.LTIPlatform {
	for _, f := range [][2]*string{{&p.Name, &preset.Name}, {&p.Issuer, &preset.Issuer}, {&p.AuthURL, &preset.AuthURL},
		{&p.TokenURL, &preset.TokenURL}, {&p.KeysURL, &preset.KeysURL}} {
		if *f[0] == "" {
			*f[0] = *f[1]
		}
	}
	p.Hosts = append(p.Hosts, preset.Hosts...)
	return p
}

func (a *commands) ltiListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the learning platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				all, err := o.Store.LTI.LTIPlatforms(cmd.Context())
				if err != nil {
					return err
				}
				for _, p := range all {
					if a.JSON {
						err = a.Line(view.OfPlatform(p))
					} else {
						_, err = fmt.Fprintf(a.Stdout, "%s\t%s\t%s\t%s\n", p.ID, p.Issuer, p.Client, strings.Join(p.Deployments, ","))
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (a *commands) ltiShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Print what to enter at a learning platform", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				t := lti.Tool{Base: o.Config.BaseURL()}
				all := [][2]string{{"initiate_login", t.LoginURL()}, {"redirect", t.LaunchURL()}, {"target_link", t.LaunchURL()},
					{"public_keyset", t.KeysURL()}, {"notice_handler", t.NoticeURL()},
					{"scopes", strings.Join([]string{lti.ScopeNotices, lti.ScopeAssets, lti.ScopeReports}, " ")}}
				if a.JSON {
					m := map[string]string{}
					for _, one := range all {
						m[one[0]] = one[1]
					}
					return a.Line(m)
				}
				for _, one := range all {
					if _, err := fmt.Fprintf(a.Stdout, "%s\t%s\n", one[0], one[1]); err != nil {
						return err
					}
				}
				if !instance.OverTLS(o.Config) {
					fmt.Fprintln(a.Stderr, "platforms and browsers require https: set serve.url")
				}
				return nil
			})
		},
	}
}

func (a *commands) ltiRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Create a new signing key, used from the next start", Args: cobra.NoArgs,
		Long: `Rotate creates a new key, which signs messages to platforms from the next start of concordat serve.
The two previous keys stay published, so nothing in transit is lost.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				keys, err := instance.LTIKeys(o.Dir)
				if err == nil {
					keys, err = keys.Rotate()
				}
				if err != nil {
					return err
				}
				if err := instance.WriteLTIKeys(filepath.Join(o.Dir, instance.LTIKeyName), keys); err != nil {
					return err
				}
				if o.Config.Clustered() {
					a.Warn("the other nodes also need %s: copy the file to their folders before you restart them", instance.LTIKeyName)
				}
				a.Say("a new key was created and will be used from the next start of concordat serve")
				return nil
			})
		},
	}
}

func (a *commands) ltiRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove a learning platform, but keep the checks that it requested", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if err := o.Store.LTI.DeleteLTIPlatform(cmd.Context(), args[0]); err != nil {
					return err
				}
				a.Say("platform %s is removed", args[0])
				return nil
			})
		},
	}
}
