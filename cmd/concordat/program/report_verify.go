package program

import (
	"bytes"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/report"
)

// maxReport is the maximum size in bytes of a report to verify.
const maxReport = 1 << 30

func (a *app) reportVerify() *cobra.Command {
	var cardFiles []string
	c := &cobra.Command{
		Use: "verify FILE", Short: "Verify a report's signatures and show what was changed",
		Long: `Verify checks the site's signature over every part of the report, each partner's signature over its answer, that
the answer was given to this site about this submission, and that the report attributes no document, title or
text to a partner that the partner did not give. For a PDF it checks the attached report, the signature over the whole
file, and that the site vouches for the certificate. For HTML, CSV and text it checks the site's signature, which
stands at the end and covers the whole file. It needs only the sites' cards, given with --card or known to this
site. The cards must come from a source other than the report.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := instance.ReadBounded(args[0], maxReport)
			if err != nil {
				return cli.Usage(err)
			}
			cards, err := a.ReadCards(cmd.Context(), cardFiles)
			if err != nil {
				return err
			}
			verify := verifyReport
			switch {
			case bytes.HasPrefix(b, []byte("%PDF-")):
				verify = verifyPDF
			case !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")):
				verify = verifyFile
			}
			out, err := verify(b, cards)
			if err != nil {
				return cli.Usage(err)
			}
			return a.showOutcome(args[0], out)
		},
	}
	c.Flags().StringArrayVar(&cardFiles, "card", nil, "file that contains a site's card (repeatable)")
	return c
}

func (a *app) showOutcome(file string, out *verification) error {
	if a.JSON {
		if err := a.Line(out); err != nil {
			return err
		}
	} else if out.OK {
		a.Say("%s is unchanged since site %s signed it at %s", file, out.Site, out.At.Local().Format(time.DateTime))
		if out.whole {
			a.Say("partners' signatures are only in the JSON and PDF versions of the report")
			return nil
		}
		a.Say("partners' signatures: %d, all valid", len(out.Statements))
		if n := out.unbound(); n > 0 {
			a.Say("%d of the partners' signatures are in an older format that does not cover the requesting site or the submission: only this site vouches "+
				"that they belong to this report", n)
		}
	} else {
		for _, p := range out.Problems {
			a.Say("%s", p)
		}
	}
	if !out.OK {
		err := &cli.Exit{Code: cli.Failed}
		if !a.JSON {
			err.Err = fmt.Errorf("%s: %s", file, report.Plural(len(out.Problems), "problem", "problems"))
		}
		return err
	}
	return nil
}
