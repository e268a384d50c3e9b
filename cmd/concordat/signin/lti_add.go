package signin

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/store"
	"concordat/web/platforms"
)

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
