package cli

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
)

// Strict turns invalid flags and arguments of root and its subcommands into usage errors.
func Strict(root *cobra.Command) {
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(plainFlag(err)) })
	requireArgs(root)
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Run, c.RunE = nil, helpTopic
		}
	}
}

// helpTopic prints help for the command named by args. Cobra's own help command responds to an unknown topic with the general help and
// exits successfully.
func helpTopic(c *cobra.Command, args []string) error {
	topic, rest, err := c.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return Usagef("unknown help topic %q; see %s help", strings.Join(args, " "), c.Root().Name())
	}
	return topic.Help()
}

// requireArgs turns invalid arguments of c and its subcommands into usage errors.
func requireArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return wrongArgs(cmd, args, err)
			}
			return nil
		}
	}
	for _, s := range c.Commands() {
		requireArgs(s)
	}
}

// wrongArgs words an error about a command's arguments. A command's own usage error keeps its wording. Cobra's errors only count arguments,
// so wrongArgs names the missing arguments, or the first that is too many, and shows how to write the command.
func wrongArgs(c *cobra.Command, args []string, err error) error {
	_, rest, _ := strings.Cut(c.Use, " ")
	how := strings.TrimSpace(c.CommandPath() + " " + rest)
	required, most := arguments(c.Use)
	var own *Exit
	switch {
	case errors.As(err, &own), c.HasSubCommands():
	case len(args) < len(required):
		verb := "is"
		if len(required)-len(args) > 1 {
			verb = "are"
		}
		err = fmt.Errorf("%s %s missing; usage: %s", strings.Join(required[len(args):], " and "), verb, how)
	case len(args) > most:
		err = fmt.Errorf("unexpected argument %q; usage: %s", args[most], how)
	}
	return Usagef("%w; see %s --help", err, c.CommandPath())
}

// arguments returns the names of the arguments that a command requires according to its Use line, and the maximum number that it takes.
// Flags in the line, with their values, are not arguments.
func arguments(use string) (required []string, most int) {
	words := strings.Fields(use)[1:]
	for i, w := range words {
		if strings.HasPrefix(w, "--") || i > 0 && strings.HasPrefix(words[i-1], "--") {
			continue
		}
		name, optional := strings.CutPrefix(w, "[")
		name, _, _ = strings.Cut(name, "[") // more of the same argument, as in NODE[,NODE...]
		name, repeated := strings.CutSuffix(strings.TrimSuffix(name, "]"), "...")
		if !optional {
			required = append(required, name)
		}
		if most++; repeated {
			return required, math.MaxInt
		}
	}
	return required, most
}
