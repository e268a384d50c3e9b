package program

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"concordat/profile"
)

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
