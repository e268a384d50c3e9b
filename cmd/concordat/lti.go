package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/config"
	"concordat/instance"
	"concordat/lti"
	"concordat/store"
	"concordat/web"
)

// checkPlatforms reports what is wrong with the registered platforms, without asking any of them. A
// folder that holds no site yet has none.
func (a *app) checkPlatforms(ctx context.Context, c *config.Config) error {
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, instance.StoreName)); err != nil && c.Store.URL == "" {
		return nil
	}
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		all, err := o.Store.LTIPlatforms(ctx)
		if err != nil {
			return err
		}
		var bad []string
		for _, p := range all {
			if err := web.CheckLTIPlatform(p, c.LTI.Private); err != nil {
				bad = append(bad, fmt.Sprintf("platform %s: %v", p.ID, err))
			}
			if len(p.Deployments) == 0 {
				fmt.Fprintf(a.Stderr, "platform %s has no deployment: nothing of it is accepted\n", p.ID)
			}
		}
		if len(all) > 0 && !instance.OverTLS(c) && !c.LTI.Private {
			bad = append(bad, "serve.url: learning platforms are registered, and browsers keep no cookies in their frames without https")
		}
		if len(bad) > 0 {
			return cli.Usagef("%s", strings.Join(bad, "\n"))
		}
		return nil
	})
}

func (a *app) ltiCommand() *cobra.Command {
	c := &cobra.Command{Use: "lti", Short: "Learning platforms that use the site", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	platform := &cobra.Command{Use: "platform", Short: "Register, list and remove learning platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	platform.AddCommand(a.ltiAddCommand(), a.ltiListCommand(), a.ltiRemoveCommand())
	c.AddCommand(platform, a.ltiShowCommand(), a.ltiRotateCommand())
	return c
}

// ltiPresets fill in what every platform of that kind has alike.
var ltiPresets = map[string]func(base string) store.LTIPlatform{
	"moodle": func(base string) store.LTIPlatform {
		return store.LTIPlatform{Name: "Moodle", Issuer: base, AuthURL: base + "/mod/lti/auth.php", TokenURL: base + "/mod/lti/token.php", KeysURL: base + "/mod/lti/certs.php"}
	},
	"canvas": func(base string) store.LTIPlatform {
		const sso = "https://sso.canvaslms.com"
		return store.LTIPlatform{Name: "Canvas", Issuer: "https://canvas.instructure.com", AuthURL: sso + "/api/lti/authorize_redirect", TokenURL: sso + "/login/oauth2/token",
			KeysURL: sso + "/api/lti/security/jwks", Hosts: []string{strings.TrimPrefix(base, "https://"), ".inscloudgate.net"}}
	},
}

func (a *app) ltiAddCommand() *cobra.Command {
	var p store.LTIPlatform
	var kind, base string
	c := &cobra.Command{
		Use: "add ID", Short: "Register a learning platform", Args: cobra.ExactArgs(1),
		Long: `Add registers a learning platform under a short name. --kind moodle or canvas with --url fills in the addresses; flags that are
given count more. What to enter at the platform is told by concordat lti show.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			one := p
			if kind != "" {
				preset, ok := ltiPresets[kind]
				if !ok || base == "" {
					return cli.Usagef("--kind is moodle or canvas, with --url such as https://moodle.example.edu")
				}
				one = fillLTI(p, preset(strings.TrimRight(base, "/")))
			}
			one.ID, one.Made = args[0], time.Now()
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if err := web.CheckLTIPlatform(one, o.Config.LTI.Private); err != nil {
					return cli.Usage(err)
				}
				if _, err := o.Store.LTIPlatform(cmd.Context(), one.ID); err == nil {
					return fmt.Errorf("platform %s: %w", one.ID, concordat.ErrExists)
				}
				if err := o.Store.PutLTIPlatform(cmd.Context(), one); err != nil {
					return err
				}
				a.Say("platform %s is registered; its deployments: %s", one.ID, strings.Join(one.Deployments, ", "))
				return nil
			})
		},
	}
	f := c.Flags()
	f.StringVar(&kind, "kind", "", "moodle or canvas")
	f.StringVar(&base, "url", "", "address of the platform, with --kind")
	f.StringVar(&p.Name, "name", "", "name for people")
	f.StringVar(&p.Issuer, "issuer", "", "issuer, or platform id")
	f.StringVar(&p.Client, "client", "", "client id that the platform gave")
	f.StringVar(&p.AuthURL, "auth-url", "", "authentication request address")
	f.StringVar(&p.TokenURL, "token-url", "", "access token address")
	f.StringVar(&p.TokenAudience, "token-audience", "", "audience of requests for tokens, if not the token address")
	f.StringVar(&p.KeysURL, "keys-url", "", "public keyset address")
	f.StringSliceVar(&p.Deployments, "deployment", nil, `deployment ids; "*" for any`)
	f.StringSliceVar(&p.Hosts, "host", nil, "other hosts of its services; a leading dot: and all below")
	return c
}

// fillLTI returns p with what it lacks from a preset.
func fillLTI(p, preset store.LTIPlatform) store.LTIPlatform {
	for _, f := range [][2]*string{{&p.Name, &preset.Name}, {&p.Issuer, &preset.Issuer}, {&p.AuthURL, &preset.AuthURL}, {&p.TokenURL, &preset.TokenURL}, {&p.KeysURL, &preset.KeysURL}} {
		if *f[0] == "" {
			*f[0] = *f[1]
		}
	}
	p.Hosts = append(p.Hosts, preset.Hosts...)
	return p
}

func (a *app) ltiListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the learning platforms", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				all, err := o.Store.LTIPlatforms(cmd.Context())
				if err != nil {
					return err
				}
				for _, p := range all {
					if a.JSON {
						err = a.Line(map[string]any{"id": p.ID, "name": p.Name, "issuer": p.Issuer, "client": p.Client, "auth_url": p.AuthURL, "token_url": p.TokenURL,
							"keys_url": p.KeysURL, "deployments": p.Deployments, "hosts": p.Hosts, "disabled": p.Disabled, "made": p.Made})
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

func (a *app) ltiRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Forget a learning platform; the checks it asked for stay", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if err := o.Store.DeleteLTIPlatform(cmd.Context(), args[0]); err != nil {
					return err
				}
				a.Say("platform %s is forgotten", args[0])
				return nil
			})
		},
	}
}

func (a *app) ltiShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Print what to enter at a learning platform", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				t := lti.Tool{Base: o.Config.BaseURL()}
				all := [][2]string{{"initiate_login", t.LoginURL()}, {"redirect", t.LaunchURL()}, {"target_link", t.LaunchURL()}, {"public_keyset", t.KeysURL()}, {"notice_handler", t.NoticeURL()},
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
					fmt.Fprintln(a.Stderr, "platforms and browsers want https: set serve.url")
				}
				return nil
			})
		},
	}
}

func (a *app) ltiRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Sign with a new key from the next start on", Args: cobra.NoArgs,
		Long: `Rotate makes a new key with which the site signs what it says to platforms, from the next start of concordat serve on. The two
keys before it are still published, so that nothing on its way is lost.`,
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
				if o.Clustered() {
					a.Warn("the other nodes need %s too: copy it to their folders before they start again", instance.LTIKeyName)
				}
				a.Say("a new key is made; it is used from the next start on")
				return nil
			})
		},
	}
}
