package program

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat/instance"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show whether the server is running", Args: cobra.NoArgs,
		Long: `Status prints what the serving process reports, and exits with status 1 if there is none.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := a.Dir()
			if err != nil {
				return err
			}
			st, err := instance.Serving(cmd.Context(), dir)
			if err != nil {
				return fmt.Errorf("site %s is not being served: %w", dir, err)
			}
			if a.JSON {
				return a.Line(st)
			}
			a.Say("site %s has been served by process %d since %s; http://%s/", st.Site, st.Process, st.Started.Local().Format(time.DateTime), st.Listen)
			a.Say("%d documents, %d sentences", st.Documents, st.Sentences)
			if f := st.Federation; f != nil {
				a.Say("listening for partners at %s", f.Listen)
				for _, line := range f.Words() {
					a.Say("%s", line)
				}
			}
			return nil
		},
	}
}
