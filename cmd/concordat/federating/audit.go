package federating

import (
	"github.com/spf13/cobra"

	"concordat/cmd/cli"
)

func AuditCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "audit", Short: "Show, verify and export the audit log", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.auditShow(), a.auditVerify(), a.auditExport())
	return c
}
