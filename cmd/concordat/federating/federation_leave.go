package federating

import (
	"github.com/spf13/cobra"

	"concordat/crypto"
	"concordat/instance"
)

func (a *commands) federationLeave() *cobra.Command {
	return &cobra.Command{
		Use: "leave NAME", Short: "Leave a federation and delete its secrets", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := o.Membership(ctx, args[0])
				if err != nil {
					return err
				}
				if err := o.Store.Partners.Leave(ctx, m.Federation); err != nil {
					return err
				}
				if _, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) { return id.Leave(args[0]), nil }); err != nil {
					return err
				}
				if err := o.Audit(ctx, "federation left", map[string]any{"federation": args[0]}); err != nil {
					return err
				}
				if a.JSON {
					return a.Line(map[string]any{"federation": args[0], "left": true})
				}
				a.Say("left federation %s", args[0])
				return nil
			})
		},
	}
}
