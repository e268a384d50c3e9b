package config

import (
	"fmt"
	"net/netip"
	"time"
)

// People configures who may use the pages, within what quotas, and what submitters see.
type People struct {
	Public      bool           // anyone may create an account and submit
	Proxies     []netip.Prefix // proxies trusted to state a caller's address
	SessionIdle time.Duration
	See         string // what submitters see of their own reports: everything, report, score or nothing
	From        string // when they see it: done, verdict or signed
	// Quota applies to all accounts, and OpenQuota to self-registered ones; 0 means no limit.
	Quota, OpenQuota Quota
	// Queue is the maximum number of open checks of all public accounts together, Accounts the maximum number of public accounts, and
	// Registrations the maximum number of accounts created per day from one address.
	Queue, Accounts, Registrations int
	// Calls is the maximum number of API calls per minute with one token, and from one address.
	Calls int
}

// Quota limits an account's submissions in 24 hours, and Open its waiting checks at any time; 0 means no limit.
type Quota struct {
	Documents, Characters, Open int
	Bytes                       int64
}

// Retention configures how long data is kept.
type Retention struct {
	Reports, Texts, Originals int // days after the end of the check; 0 means forever
	NoStore                   bool
	Cited                     string // keep or withhold
	// Accepted, Rejected and Withdrawn are days after the decision in a shared case; 0 means immediately.
	Accepted, Rejected, Withdrawn int
}

// Submission configures when submissions are added to a library, so that later ones are compared with them.
type Submission struct {
	Add     string // never, ask or verdict
	Library string // default library
}

// peopleKeys are the settings of People, Submission and Retention.
var peopleKeys = []Key{
	yesNo("serve.public", "false", restart, func(c *Config) *bool { return &c.People.Public },
		"Anyone may create an account and submit, within the quotas of public.*."),
	proxies("serve.trusted_proxies", func(c *Config) *[]netip.Prefix { return &c.People.Proxies },
		"Reverse proxies whose X-Forwarded-For header is trusted, such as 10.0.0.0/8."),
	duration("serve.session_idle", "2h", restart, time.Minute, 12*time.Hour, func(c *Config) *time.Duration { return &c.People.SessionIdle },
		"Idle time after which a browser is signed out; sessions last at most 12h."),
	number("serve.api_calls", "600", restart, "per minute", 1, 1_000_000, func(c *Config) *int { return &c.People.Calls },
		"Maximum API calls with one token; without a valid token, one address may make a tenth as many."),

	word("submitters.see", "everything", restart, func(c *Config) *string { return &c.People.See },
		"What submitters see of the reports on their own documents; with report, other people's wording is omitted.",
		"everything", "report", "score", "nothing"),
	word("submitters.from", "done", restart, func(c *Config) *string { return &c.People.From },
		"When submitters see their reports: after the check, an officer's verdict, or a second officer's signature.",
		"done", "verdict", "signed"),

	number("quota.documents", "0", restart, "per 24 hours", 0, 1_000_000_000, func(c *Config) *int { return &c.People.Quota.Documents },
		"Maximum documents that an account may submit, including members of archives. 0: no limit."),
	size("quota.bytes", "0B", restart, 0, 1<<50, func(c *Config) *int64 { return &c.People.Quota.Bytes },
		"Maximum bytes of files and pasted text that an account may submit in 24 hours. 0B: no limit."),
	number("quota.characters", "0", restart, "per 24 hours", 0, 2_000_000_000, func(c *Config) *int { return &c.People.Quota.Characters },
		"Maximum characters read from an account's documents. 0: no limit."),
	number("quota.open", "0", restart, "checks", 0, 1_000_000, func(c *Config) *int { return &c.People.Quota.Open },
		"Maximum waiting and running checks per account. 0: no limit."),

	number("public.documents", "10", restart, "per 24 hours", 1, 1_000_000, func(c *Config) *int { return &c.People.OpenQuota.Documents },
		"Maximum documents from a public account, and from all public accounts at one address."),
	size("public.bytes", "20MiB", restart, 1, 1<<40, func(c *Config) *int64 { return &c.People.OpenQuota.Bytes },
		"Maximum bytes from a public account, and from all public accounts at one address, in 24 hours."),
	number("public.characters", "500000", restart, "per 24 hours", 1, 2_000_000_000,
		func(c *Config) *int { return &c.People.OpenQuota.Characters },
		"Maximum characters of text read for a public account."),
	number("public.open", "3", restart, "checks", 1, 10_000, func(c *Config) *int { return &c.People.OpenQuota.Open },
		"Maximum waiting and running checks per public account."),
	number("public.queue", "20", restart, "checks", 1, 100_000, func(c *Config) *int { return &c.People.Queue },
		"Maximum waiting and running checks of all public accounts."),
	number("public.accounts", "1000", restart, "accounts", 1, 1_000_000, func(c *Config) *int { return &c.People.Accounts },
		"Maximum number of public accounts."),
	number("public.registrations", "3", restart, "per 24 hours", 1, 10_000, func(c *Config) *int { return &c.People.Registrations },
		"Maximum accounts created from one address (IPv6: one /64)."),

	word("submissions.add", "ask", live, func(c *Config) *string { return &c.Submission.Add },
		"When submissions are added to a library: never, when an officer asks, or also after every verdict.",
		"never", "ask", "verdict"),
	libraryName("submissions.library", "submissions", live, func(c *Config) *string { return &c.Submission.Library },
		"Library for added submissions unless an officer chooses another."),

	number("retention.reports_days", "0", restart, "days", 0, 100_000, func(c *Config) *int { return &c.Retention.Reports },
		"Days from the end of a check until it is deleted with its report. 0: never."),
	number("retention.texts_days", "0", restart, "days", 0, 100_000, func(c *Config) *int { return &c.Retention.Texts },
		"Days from the end of a check until the submission's text and original are deleted; the report stays. 0: never."),
	number("retention.originals_days", "0", restart, "days", 0, 100_000, func(c *Config) *int { return &c.Retention.Originals },
		"Days from the end of a check until the submitted file is deleted. 0: never."),
	yesNo("retention.no_store", "false", restart, func(c *Config) *bool { return &c.Retention.NoStore },
		"Delete every submission's text and original once its report exists."),
	number("retention.accepted_days", "0", restart, "days", 0, 100_000, func(c *Config) *int { return &c.Retention.Accepted },
		"Days from the decision *accepted* in a shared case until this site's document is deleted. 0: at once."),
	number("retention.rejected_days", "0", restart, "days", 0, 100_000, func(c *Config) *int { return &c.Retention.Rejected },
		"Days from the decision *rejected* until the document is deleted."),
	number("retention.withdrawn_days", "0", restart, "days", 0, 100_000, func(c *Config) *int { return &c.Retention.Withdrawn },
		"Days from the decision *withdrawn* until the document is deleted."),
	word("retention.cited", "keep", restart, func(c *Config) *string { return &c.Retention.Cited },
		"Whether reports keep or withhold a deleted document's title and wording.", "keep", "withhold"),
}

// proxies is a list of addresses and networks.
func proxies(name string, field func(*Config) *[]netip.Prefix, doc string) Key {
	k := list(name, "", restart, func(*Config) *[]string { return new([]string) }, doc)
	k.Type = "list of addresses or networks"
	k.set = func(c *Config, s string) error {
		var items []string
		if err := list(name, "", restart, func(*Config) *[]string { return &items }, doc).set(c, s); err != nil {
			return err
		}
		var out []netip.Prefix
		for _, item := range items {
			p, err := netip.ParsePrefix(item)
			if a, err2 := netip.ParseAddr(item); err != nil && err2 == nil {
				p, err = a.Prefix(a.BitLen())
			}
			if err != nil {
				return fmt.Errorf("invalid value %q; want an address or a network such as 10.0.0.0/8", item)
			}
			out = append(out, p.Masked())
		}
		*field(c) = out
		return nil
	}
	k.get = func(c *Config) string {
		var out string
		for i, p := range *field(c) {
			if i > 0 {
				out += ", "
			}
			out += p.String()
		}
		return out
	}
	return k
}
