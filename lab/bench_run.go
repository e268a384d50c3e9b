package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/bench"
)

func (l *lab) benchRun() *cobra.Command {
	var times int
	var name string
	c := &cobra.Command{Use: "run -- COMMAND [ARGUMENT]...", Short: "Measure the processor time and memory of a command",
		Args: cobra.MinimumNArgs(1),
		Long: `Run starts a command --rounds times, one after another, and measures the processor time of its processes, the elapsed
time and the peak memory of any one process. The command's output goes to standard error.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return cli.Usagef("--rounds is %d, but must be at least 1", times)
			}
			if name == "" {
				name = strings.Join(append([]string{filepath.Base(args[0])}, args[1:min(2, len(args))]...), " ")
			}
			r, err := bench.Process(cmd.Context(), name, args, times, l.Stderr)
			if err != nil {
				return err
			}
			return l.figure("Run", r, "%s: %.2f s of processor time (minimum %.2f), %.2f s elapsed, %d rounds; peak %.0f MB", r.Command,
				r.CPU, r.Best, r.Wall, r.Rounds, r.Peak)
		}}
	c.Flags().IntVar(&times, "rounds", 1, "number of times to run the command; prints the median")
	c.Flags().StringVar(&name, "name", "", "name of the figure (default: the command and its first argument)")
	return c
}
