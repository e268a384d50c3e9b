package signin

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/web/lti"
)

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
