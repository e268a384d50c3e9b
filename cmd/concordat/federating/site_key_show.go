package federating

import (
	"time"

	"github.com/spf13/cobra"

	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
)

func (a *commands) keyShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the site's identity and which keys are in force; private keys are never shown", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				now := time.Now()
				if a.JSON {
					return a.Line(map[string]any{"site": id.Site(), "root": id.HasRoot(), "keys": id.Keys(now), "federations": partners.EpochSpans(id)})
				}
				a.Say("site %s", id.Site())
				if id.HasRoot() {
					a.Say("root key: in the keystore; export it with concordat site key export-root FILE")
				} else {
					a.Say("root key: not in the keystore")
				}
				for _, k := range id.Keys(now) {
					state := "to come"
					switch {
					case k.InForce:
						state = "in force"
					case !now.Before(k.To) && k.Held:
						state = "expired, kept for messages in transit"
					case !now.Before(k.To):
						state = "ended, destroyed"
					}
					a.Say("%-8s %4d  %s to %s  %s", k.Kind, k.Epoch, k.From.Local().Format(time.DateOnly), k.To.Local().Format(time.DateOnly), state)
				}
				return nil
			})
		},
	}
}
