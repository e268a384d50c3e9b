// Package program is the program concordat: it joins the commands of this folder and of its neighbours under one command line. Start from
// [Run]. It is a package so that the tests of those folders can run whole command lines; the command itself only calls [Main].
package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/cmd/concordat/alerting"
	"concordat/cmd/concordat/auditing"
	"concordat/cmd/concordat/backups"
	"concordat/cmd/concordat/clustering"
	"concordat/cmd/concordat/deleting"
	"concordat/cmd/concordat/federating"
	"concordat/cmd/concordat/harvesting"
	"concordat/cmd/concordat/keys"
	"concordat/cmd/concordat/rechecking"
	"concordat/cmd/concordat/reindexing"
	"concordat/cmd/concordat/screening"
	"concordat/cmd/concordat/sharing"
	"concordat/cmd/concordat/signin"
	"concordat/extract/sandbox"
	"concordat/profile"
)

// Main runs the command line of the process, and does not return. In a child process that extracts a file, it does that instead.
func Main() {
	if sandbox.IsWorker() {
		sandbox.Main() // does not return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	code := Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run executes the command line and returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{cli.Site{Terminal: cli.Terminal{Stdin: stdin, Stdout: stdout, Stderr: stderr}}}
	return cli.Execute(ctx, a.command(), args, &a.Terminal)
}

// command builds the command tree.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "concordat",
		Short: "Find reused text, here and at partner sites, without giving the text away",
		Long: `Concordat keeps libraries of documents and checks submissions against them.

Start with:
  concordat init
  concordat library create theses
  concordat add --library theses FOLDER
  concordat check submission.docx --out report.html

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some inputs unreadable (the rest done),
4 the match share reached --fail-on, 5 incomplete answer with --require-complete,
6 cluster restart ended serve, which its service manager starts again.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.Version, _ = built() // this also adds the flag --version
	f := root.PersistentFlags()
	f.StringVar(&a.Data, "data", "", "folder of the site (default: $CONCORDAT_DATA, otherwise the user's data folder)")
	f.BoolVar(&a.JSON, "json", false, "print JSON lines on stdout")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "do not show progress")
	on := &a.Site
	root.AddCommand(
		a.initCommand(), libraries{on}.command(), a.addCommand(), harvesting.Command(on), inboxCommand(a), a.checkCommand(), a.batchCommand(),
		rechecking.Command(on), a.reportCommand(), a.fingerprintCommand(), a.extractCommand(), reindexing.Command(on), screening.Command(on),
		keys.SiteCommand(on), federating.PeerCommand(on), federating.FederationCommand(on), auditing.AuditCommand(on),
		sharing.RevealCommand(on), alerting.AlertCommand(on), alerting.CaseCommand(on), federating.MirrorCommand(on),
		deleting.DeleteCommand(on), deleting.RetentionCommand(on), a.serveCommand(), a.statusCommand(),
		backups.BackupCommand(on), backups.RestoreCommand(on), a.doctorCommand(), signin.LoginCommand(on), signin.LTICommand(on),
		encoderCommand(a), a.configCommand(), a.versionCommand(), backups.StoreCommand(on), clustering.Command(on),
	)
	sharing.AnswerCommands(on, root)
	cli.Strict(root)
	return root
}

// app is the state that all commands share.
type app struct{ cli.Site }

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and the supported schemes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			version, revision := built()
			schemes := []string{}
			for _, name := range profile.Names() {
				p, err := profile.New(profile.Options{Recipe: name})
				if err != nil {
					return err
				}
				schemes = append(schemes, string(p.Scheme()))
			}
			if a.JSON {
				return a.Line(map[string]any{"version": version, "revision": revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" +
					runtime.GOARCH, "schemes": schemes})
			}
			a.Say("concordat %s %s (%s, %s/%s)", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			for _, s := range schemes {
				fmt.Fprintln(a.Stdout, "scheme", s)
			}
			return nil
		},
	}
}

// built returns the version and revision of the program, if the build recorded them.
func built() (version, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return info.Main.Version, revision
}
