package deleting

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/site/retain"
)

// maxReceipt is the maximum size in bytes of a receipt to verify.
const maxReceipt = 64 << 20

func (a *commands) deleteVerify() *cobra.Command {
	var cardFiles []string
	var document string
	c := &cobra.Command{
		Use: "verify FILE", Short: "Check the signature of a deletion receipt", Args: cobra.ExactArgs(1),
		Long: `Verify checks the site's signature on the receipt against the cards given with --card, or those that
this site has stored. With --document LIBRARY/ID, it also checks that the receipt is about that document.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := instance.ReadBounded(args[0], maxReceipt)
			if err != nil {
				return cli.Usage(err)
			}
			cards, err := a.ReadCards(cmd.Context(), cardFiles)
			if err != nil {
				return err
			}
			var r retain.Receipt
			if err := json.Unmarshal(b, &r); err != nil || r.Version != retain.ReceiptVersion {
				return cli.Usagef("%s: not a version %d receipt: %v", args[0], retain.ReceiptVersion, err)
			}
			if err := verifyReceipt(r, cards); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if document != "" && !names(r, document) {
				return fmt.Errorf("%s: %w: the receipt is not about document %s", args[0], concordat.ErrNotFound, document)
			}
			a.Say("the receipt is unchanged since site %s signed it: %d reports, %d documents", r.Site, len(r.Tasks), len(r.Documents))
			if a.JSON {
				return a.Line(map[string]any{"ok": true, "site": r.Site, "id": r.ID})
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&cardFiles, "card", nil, "file with a site's card; may be repeated")
	c.Flags().StringVar(&document, "document", "", "check that the receipt is about this document, given as LIBRARY/ID")
	return c
}

// verifyReceipt returns nil if the receipt was signed by the site of the cards.
func verifyReceipt(r retain.Receipt, cards cli.Cards) error {
	if len(r.Signature) == 0 {
		return fmt.Errorf("the receipt is not signed: %w", concordat.ErrInvalid)
	}
	var s signing.ReceiptSignature
	if err := json.Unmarshal(r.Signature, &s); err != nil {
		return fmt.Errorf("decode the signature: %w: %v", concordat.ErrInvalid, err)
	}
	sum, err := r.Sum()
	if err != nil {
		return err
	}
	err = cards.Check(concordat.Statement{Site: s.Site, Kind: signing.KindReceipt, At: s.At, KeyEpoch: s.KeyEpoch,
		Request: make([]byte, 32), Payload: sum[:], Signature: s.Signature})
	if err != nil {
		return fmt.Errorf("check the signature of site %s: %w", s.Site, err)
	}
	return nil
}

// names reports whether the receipt covers a document, given as LIBRARY/ID.
func names(r retain.Receipt, document string) bool {
	for _, d := range r.Documents {
		if d.Name == retain.NameOf(document) {
			return true
		}
	}
	return false
}
