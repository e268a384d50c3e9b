package batch

import (
	"regexp"
	"slices"
	"strings"

	"concordat/store"
)

// platforms lists the naming schemes of learning platforms for "download all submissions": first the submitter, then the submitter's name
// for the file. Moodle: mod/assign/locallib.php, download_submissions; Canvas: lib/submission_zip; Blackboard: Assignment File Download.
var platforms = []*regexp.Regexp{
	regexp.MustCompile(`^(.+?_\d+)_assignsubmission_[a-z]+(?:_|$)`),
	regexp.MustCompile(`^(.+?)_attempt_\d{4}(?:-\d\d){5}(?:_|\.txt$)`),
	regexp.MustCompile(`^([^_]+)_(?:LATE_)?(\d{2,})_\d{2,}_.`),
}

// submitters returns the submitter of each file in a download from a learning platform, judging by their names. It returns nil unless all
// names match one platform's scheme, so that submitters gain nothing by naming a file like someone else's.
func submitters(names []string) []string {
	for _, p := range platforms {
		if out := submittersOf(p, names); out != nil {
			return out
		}
	}
	return nil
}

func submittersOf(platform *regexp.Regexp, names []string) []string {
	var out []string
	for _, name := range names {
		who := ""
		for part := range strings.SplitSeq(name, "/") {
			if m := platform.FindStringSubmatch(part); m != nil {
				who = strings.Join(m[1:], "_")
				break
			}
		}
		if who == "" {
			return nil
		}
		out = append(out, who)
	}
	return out
}

// groupBySubmitter puts each submitter's documents in a group, unless the manifest declares another. It uses the names of the members in
// an archive, or else the names of all files in the batch.
func (r *batchRun) groupBySubmitter(f *batchFile) {
	var who []string
	if one := r.submitter[f.input.Name]; one != "" {
		who = slices.Repeat([]string{one}, len(f.members))
	} else {
		var names []string
		for _, m := range f.members {
			if name, inside := strings.CutPrefix(m.Name, f.input.Name+"!/"); inside {
				names = append(names, name)
			}
		}
		if who = submitters(names); len(who) != len(f.members) {
			return
		}
	}
	for i := range f.members {
		if m := &f.members[i]; m.Group == "" {
			m.Group = who[i]
		}
	}
}

// submittersOfInputs maps the file names in a batch to submitters. The result is empty if the names match no platform.
func submittersOfInputs(inputs []store.BatchInput) map[string]string {
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.Name
	}
	out := map[string]string{}
	for i, who := range submitters(names) {
		out[inputs[i].Name] = who
	}
	return out
}
