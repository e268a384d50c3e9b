package program

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/report"
)

// leadFlags selects the leads that a report shows. The names and values match those of the web pages and the API.
type leadFlags struct {
	state, kind, languages string
	likelihood             float64
}

// mostLikelihood is the maximum of --lead-likelihood, as in the API.
const mostLikelihood = 1000

// languagePair matches the output of report.LanguagePair.
var languagePair = regexp.MustCompile(`^[a-z]{2,3}-[a-z]{2,3}$`)

func (f *leadFlags) add(c *cobra.Command) {
	fl, states, kinds := c.Flags(), texts(report.LeadStates()), texts(report.LeadKinds())
	fl.StringVar(&f.state, "lead-state", "", "show only leads in this state: "+strings.Join(states, ", "))
	fl.StringVar(&f.kind, "lead-kind", "", "show only leads of this kind: "+strings.Join(kinds, ", "))
	fl.StringVar(&f.languages, "lead-languages", "",
		"show only leads between these languages, the submission's first, such as en-zh; und means unknown")
	fl.Float64Var(&f.likelihood, "lead-likelihood", 0, "show only leads with at least this likelihood, from 0 (all leads) to 1000")
	for name, values := range map[string][]string{"lead-state": states, "lead-kind": kinds} {
		c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// texts converts named strings to plain strings.
func texts[T ~string](all []T) (out []string) {
	for _, x := range all {
		out = append(out, string(x))
	}
	return out
}

func (f *leadFlags) validate() error {
	if states := report.LeadStates(); f.state != "" && !slices.Contains(states, report.LeadState(f.state)) {
		return cli.Usagef("--lead-state %s: must be one of %s", f.state, strings.Join(texts(states), ", "))
	}
	if kinds := report.LeadKinds(); f.kind != "" && !slices.Contains(kinds, report.LeadKind(f.kind)) {
		return cli.Usagef("--lead-kind %s: must be one of %s", f.kind, strings.Join(texts(kinds), ", "))
	}
	if f.languages != "" && !languagePair.MatchString(f.languages) {
		return cli.Usagef("--lead-languages %s: must be two language codes, such as en-zh", f.languages)
	}
	if !(f.likelihood >= 0 && f.likelihood <= mostLikelihood) { // also rejects NaN
		return cli.Usagef("--lead-likelihood %v: must be between 0 and %d", f.likelihood, mostLikelihood)
	}
	return nil
}

// filter returns the filter that the flags describe. It fails if the flags filter leads but the check does not look for any.
func (f *leadFlags) filter(asked bool) (report.LeadFilter, error) {
	if *f != (leadFlags{}) && !asked {
		return report.LeadFilter{}, cli.Usagef("--lead-state, --lead-kind, --lead-languages and --lead-likelihood select leads, but the check does not look for leads: add --leads")
	}
	return report.LeadFilter{State: report.LeadState(f.state), Kind: report.LeadKind(f.kind), Languages: f.languages, Least: f.likelihood}, nil
}
