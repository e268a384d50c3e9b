package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/instance/config"
	"concordat/site/retain"
)

// LoadConfig reads the configuration at path and applies the settings for all nodes and the environment.
func LoadConfig(path string) (*config.Config, error) {
	var central config.Central
	if path != "" {
		var err error
		if central, err = centralAt(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	c, err := config.LoadCentral(path, central, os.LookupEnv)
	if err != nil {
		return nil, Usage(err)
	}
	return c, nil
}

// initialConfig returns the file written by init, with the keys that identify the site and a pointer to documentation of the others.
func initialConfig(id, title, scheme, database string) []byte {
	return fmt.Appendf(nil, `# Configuration of a Concordat site. concordat config check shows every key with its value and
# where it came from; doc/config.md explains them.
site:
  id: %s
  title: %q
scheme: %s
meaning:
  index: true
  leads: on
`+storeLines(database), id, title, scheme)
}

// Extraction returns the limits of extraction.
func Extraction(c *config.Config) sandbox.Options {
	e := c.Extract
	var ocr *sandbox.OCR
	if e.OCR != "" {
		ocr = &sandbox.OCR{Languages: e.OCR}
	}
	return sandbox.Options{
		OCR: ocr,
		Extract: extract.Options{MaxInput: e.MaxInput, MaxText: e.MaxText, MaxUnpacked: e.MaxUnpacked, MaxPages: e.MaxPages,
			MaxEntries: e.MaxEntries, MaxRatio: e.MaxRatio, MaxDepth: e.MaxDepth, MaxNesting: e.MaxNesting},
		Wall: e.Wall, CPU: e.CPU, Memory: e.Memory,
	}
}

// missingPart returns a file of a site that dir lacks, and another that it contains; both are empty if it contains no file of a site.
func missingPart(dir string) (missing, there string) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	for _, name := range []string{StoreName, KeystoreName, OriginalsName, IndexName} { // a configuration and index.key can precede a site
		if has(name) {
			there = name
		}
	}
	switch {
	case there == "":
	case has(StoreName):
		missing = ConfigName
	default:
		missing = StoreName
	}
	return missing, there
}

// HoldsPart reports whether dir contains files of a site.
func HoldsPart(dir string) bool {
	_, there := missingPart(dir)
	return there != ""
}

// AbsentSite explains that dir contains no site or, if it contains only some files of a site, which one is missing.
func AbsentSite(dir string) error {
	missing, there := missingPart(dir)
	if there == "" {
		return Usagef("%s contains no site: create one with concordat init %s, or specify a different folder with --data", dir, dir)
	}
	return Usagef("%s contains an incomplete site: %s is missing, although %s exists: restore a backup with concordat restore, or specify a different folder "+
		"with --data", dir, missing, there)
}

// ReadConfig returns the configuration of the site in dir, or fails if there is none.
func ReadConfig(dir string) (*config.Config, error) {
	path := filepath.Join(dir, ConfigName)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, AbsentSite(dir)
	}
	c, err := LoadConfig(path)
	if err != nil || c.Store.URL != "" {
		return c, err
	}
	if _, err := os.Stat(filepath.Join(dir, StoreName)); errors.Is(err, os.ErrNotExist) {
		return nil, AbsentSite(dir)
	}
	return c, nil
}

// OverTLS reports whether people reach the site over https.
func OverTLS(c *config.Config) bool { return strings.HasPrefix(c.BaseURL(), "https://") }

// CaseTerms returns how long after decisions in shared cases the site's documents are deleted.
func CaseTerms(c *config.Config) retain.CaseTerms {
	const day = 24 * time.Hour
	r := c.Retention
	return retain.CaseTerms{Accepted: time.Duration(r.Accepted) * day, Rejected: time.Duration(r.Rejected) * day,
		Withdrawn: time.Duration(r.Withdrawn) * day}
}

// Retention returns the retention periods of the site.
func Retention(c *config.Config) retain.Retention {
	const day = 24 * time.Hour
	r := c.Retention
	return retain.Retention{Reports: time.Duration(r.Reports) * day, Texts: time.Duration(r.Texts) * day,
		Originals: time.Duration(r.Originals) * day}
}
