package fetch

import (
	"bufio"
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// robots are a host's rules for this client (RFC 9309).
type robots struct {
	rules []robotsRule
	delay time.Duration // between two requests, at most longestDelay
}

type robotsRule struct {
	path  string // * matches anything, and $ at the end matches the end
	allow bool
}

// maxRules is the maximum number of rules read.
const maxRules = 10_000

// parseRobots reads the rules for the client with the given name. These are the rules of the groups with that name or, if there are none,
// of the groups for all clients.
func parseRobots(text []byte, name string) *robots {
	var own, all robots
	named := false
	var into []*robots // rules of the current group
	inRules := true
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxRobots+1) // an overlong line would end the reading and thus allow what later rules forbid
	for lines.Scan() {
		line, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if key == "user-agent" {
			if inRules {
				into, inRules = nil, false
			}
			switch {
			case value == "*":
				into = append(into, &all)
			case name != "" && strings.EqualFold(value, name):
				into, named = append(into, &own), true
			}
			continue
		}
		if key != "allow" && key != "disallow" && key != "crawl-delay" {
			continue // for example Sitemap, which belongs to no group
		}
		inRules = true
		for _, r := range into {
			r.add(key, value)
		}
	}
	if named {
		return &own
	}
	return &all
}

func (r *robots) add(key, value string) {
	if key == "crawl-delay" {
		if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
			r.delay = min(time.Duration(min(s, 1000)*float64(time.Second)), longestDelay)
		}
		return
	}
	if value == "" || len(r.rules) >= maxRules {
		return // an empty Disallow allows everything
	}
	if path, err := url.PathUnescape(value); err == nil {
		value = path
	}
	r.rules = append(r.rules, robotsRule{value, key == "allow"})
}

// allows reports whether an address may be read. The longest matching rule decides; if two are equally long, the one that allows access
// decides.
func (r *robots) allows(u *url.URL) bool {
	target := u.Path
	if target == "" {
		target = "/"
	}
	if u.RawQuery != "" {
		query, err := url.PathUnescape(u.RawQuery)
		if err != nil {
			query = u.RawQuery
		}
		target += "?" + query
	}
	longest, allow := -1, true
	for _, rule := range r.rules {
		if n := len(rule.path); (n > longest || n == longest && rule.allow) && fits(rule.path, target) {
			longest, allow = n, rule.allow
		}
	}
	return allow
}

// fits reports whether a pattern matches a prefix of a path. Its time is at most proportional to the product of their lengths.
func fits(pattern, target string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(target, parts[0])
	if !ok {
		return false
	}
	for i, part := range parts[1:] {
		if whole && i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !whole || rest == ""
}
