package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Login configures how people sign in.
type Login struct {
	// Password specifies who may sign in with a password: everyone or administrators.
	Password string
	OIDC     []Provider // in order of name, without duplicates
}

// The values of Login.Password.
const (
	PasswordEveryone       = "everyone"
	PasswordAdministrators = "administrators"
)

// Provider is an OpenID Connect provider for signing in.
type Provider struct {
	Name          string // in addresses: letters, digits, hyphens
	Title         string // label of the button
	Issuer        string
	ClientID      string
	ClientSecret  Secret
	Scopes        []string          // besides openid
	RoleClaim     string            // name of the claim with the role; if empty, everyone gets DefaultRole
	Roles         map[string]string // value of the claim to role
	DefaultRole   string            // for people not covered by Roles; if empty, they are refused
	AccountClaim  string            // claim whose value names a new account
	Create        bool              // create an account at the first visit
	LinkVerified  bool              // at the first visit, link an account whose name is the verified e-mail address
	UpdateRole    bool              // update the role from the claim at every visit
	ClockSkew     time.Duration
	MaxAge        time.Duration // maximum age of the sign-in at the provider; 0 means any
	secretFile    string        // absolute path; empty if the secret is in the environment or missing
	hasSecretFile bool
}

// Secret is a value that is never printed.
type Secret string

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString hides the value.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// LTI configures the use of the site by learning platforms.
type LTI struct {
	// Learners permits learners to open the reports of their own work.
	Learners bool
	// Private permits private addresses, for platforms on the same campus or machine.
	Private bool
}

const (
	maxProviders = 100
	maxRoles     = 1000
	maxSecret    = 4096 // bytes
)

// roleNames lists the roles that a provider's claims may assign; a test ensures that they are the values of store.Role.
var roleNames = []string{"administrator", "officer", "submitter", "auditor"}

// SecretEnv returns the variable with a provider's client secret.
func SecretEnv(provider string) string {
	return "CONCORDAT_LOGIN_OIDC_" + strings.ToUpper(strings.ReplaceAll(provider, "-", "_")) + "_SECRET"
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func (p *parser) providers(n *yaml.Node) {
	const at = "login.oidc"
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxProviders {
		p.fault(n, at, "must be a list of at most %d providers", maxProviders)
		return
	}
	var all []Provider
	for i, item := range n.Content {
		here := fmt.Sprintf("%s[%d]", at, i)
		before := len(p.faults)
		one := p.provider(item, here)
		if len(p.faults) > before {
			continue
		}
		if slices.ContainsFunc(all, func(o Provider) bool { return SecretEnv(o.Name) == SecretEnv(one.Name) }) {
			p.fault(item, here, "provider %s appears twice", one.Name)
		}
		// If two providers had the same issuer, their answers would be indistinguishable.
		if slices.ContainsFunc(all, func(o Provider) bool { return o.Issuer == one.Issuer && o.ClientID == one.ClientID }) {
			p.fault(item, here, "issuer %s with client %s appears twice", one.Issuer, one.ClientID)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Provider) int { return cmp.Compare(a.Name, b.Name) })
	p.config.Login.OIDC = all
	p.config.origins[at] = Origin{File: p.file, Line: n.Line}
}

func (p *parser) provider(n *yaml.Node, at string) Provider {
	one := Provider{Scopes: []string{"profile", "email"}, AccountClaim: "preferred_username", ClockSkew: time.Minute}
	before := len(p.faults)
	p.mapping(n, at, func(key, value *yaml.Node) {
		name := at + "." + key.Value
		switch key.Value {
		case "roles":
			one.Roles = p.roles(value, name)
		case "scopes":
			if s, ok := p.words(value, name); ok {
				one.Scopes = s
			}
		default:
			text, ok := p.scalar(value, name)
			if !ok {
				return
			}
			if err := one.set(key.Value, text, p.dir); err != nil {
				p.fault(value, name, "%s", err)
			}
		}
	})
	if len(p.faults) > before {
		return one
	}
	for _, need := range [][2]string{{one.Name, "name"}, {one.Issuer, "issuer"}, {one.ClientID, "client_id"}} {
		if need[0] == "" {
			p.fault(n, at, "no %s", need[1])
		}
	}
	if len(one.Roles) > 0 && one.RoleClaim == "" {
		p.fault(n, at, "roles requires role_claim")
	}
	if one.RoleClaim != "" && len(one.Roles) == 0 {
		p.fault(n, at, "role_claim requires roles")
	}
	if one.RoleClaim == "" && one.DefaultRole == "" && one.Create {
		p.fault(n, at, "create requires role_claim and roles, or default_role; without them, nobody could sign in")
	}
	if one.UpdateRole && one.RoleClaim == "" {
		p.fault(n, at, "update_role requires role_claim")
	}
	one.Title = cmp.Or(one.Title, one.Name)
	return one
}

func (o *Provider) set(key, text, dir string) error {
	yes := func(field *bool) error {
		if text != "true" && text != "false" {
			return fmt.Errorf("invalid value %q; want true or false", text)
		}
		*field = text == "true"
		return nil
	}
	plain := func(field *string) error {
		if text == "" || len(text) > 1000 || strings.ContainsAny(text, "\x00\r\n") {
			return errors.New("must be a single line of 1 to 1000 bytes")
		}
		*field = text
		return nil
	}
	span := func(field *time.Duration, most time.Duration) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > most {
			return fmt.Errorf("invalid duration %q; want a value from 0s to %s", text, short(most))
		}
		*field = d
		return nil
	}
	switch key {
	case "name":
		if !providerName.MatchString(text) {
			return fmt.Errorf("invalid name %q; want at most 32 lower-case letters, digits and hyphens", text)
		}
		o.Name = text
	case "title":
		return plain(&o.Title)
	case "issuer":
		if err := checkWeb(text); err != nil {
			return err
		}
		o.Issuer = text // unchanged, because it is compared literally
	case "client_id":
		return plain(&o.ClientID)
	case "client_secret_file":
		return o.readSecret(text, dir)
	case "role_claim":
		return plain(&o.RoleClaim)
	case "default_role":
		if text != "" {
			if err := checkWord(text, roleNames); err != nil {
				return err
			}
		}
		o.DefaultRole = text
	case "account_claim":
		return plain(&o.AccountClaim)
	case "create":
		return yes(&o.Create)
	case "link_verified_email":
		return yes(&o.LinkVerified)
	case "update_role":
		return yes(&o.UpdateRole)
	case "clock_skew":
		return span(&o.ClockSkew, 10*time.Minute)
	case "max_age":
		return span(&o.MaxAge, 30*24*time.Hour)
	case "client_secret":
		return fmt.Errorf("secrets are not allowed in this file: use client_secret_file or the environment variable %s", SecretEnv("NAME"))
	default:
		return errors.New("unknown key")
	}
	return nil
}

// readSecret reads a secret from a file with no other contents.
func (o *Provider) readSecret(path, dir string) error {
	if path == "" {
		return errors.New("no value")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := readAtMost(f, maxSecret)
	if err != nil {
		return err
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return fmt.Errorf("%s is empty", path)
	}
	o.ClientSecret, o.secretFile, o.hasSecretFile = Secret(secret), path, true
	return nil
}

// secrets applies the secrets in the environment.
func (p *parser) secrets(env Lookup) {
	if env == nil {
		return
	}
	if value, ok := env(StorePasswordEnv); ok {
		p.config.Store.Password = Secret(value)
	}
	for i := range p.config.Login.OIDC {
		one := &p.config.Login.OIDC[i]
		if value, ok := env(SecretEnv(one.Name)); ok {
			one.ClientSecret = Secret(value)
		}
	}
}

func (p *parser) roles(n *yaml.Node, at string) map[string]string {
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxRoles {
		p.fault(n, at, "too many roles: at most %d are allowed", maxRoles)
		return nil
	}
	all := map[string]string{}
	p.mapping(n, at, func(key, value *yaml.Node) {
		role, ok := p.scalar(value, at+"."+key.Value)
		if !ok {
			return
		}
		if err := checkWord(role, roleNames); err != nil {
			p.fault(value, at+"."+key.Value, "%s", err)
			return
		}
		all[key.Value] = role
	})
	return all
}

// words parses a list of single words.
func (p *parser) words(n *yaml.Node, at string) ([]string, bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) > 100 {
		p.fault(n, at, "must be a list of at most 100 words")
		return nil, false
	}
	var all []string
	for _, item := range n.Content {
		s, ok := p.scalar(item, at)
		if !ok {
			return nil, false
		}
		if s == "" || strings.ContainsAny(s, " \t\r\n") {
			p.fault(item, at, "%q is not a single word", s)
			return nil, false
		}
		if s != "openid" {
			all = append(all, s)
		}
	}
	return all, true
}

// checkWeb rejects an address if others on the network could read or change the traffic. Only https, or http on this machine, is allowed.
func checkWeb(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	switch {
	case u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("invalid address %q; want an address such as https://id.example.edu", text)
	case u.Scheme == "https":
	case u.Scheme == "http" && loopback(u.Hostname()):
	default:
		return fmt.Errorf("invalid address %q: https is required", text)
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// webAddress is the type of a key with the public address of the site.
func webAddress(name string, field func(*Config) *string, doc string) Key {
	return Key{Name: name, Type: "http or https address", Live: restart, Doc: doc,
		set: func(c *Config, s string) error {
			if s == "" {
				*field(c) = ""
				return nil
			}
			u, err := url.Parse(s)
			if err != nil {
				return err
			}
			if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
				strings.Trim(u.Path, "/") != "" {
				return fmt.Errorf("invalid address %q; want an address without a path, such as https://check.example.edu", s)
			}
			*field(c) = u.Scheme + "://" + u.Host
			return nil
		},
		get: func(c *Config) string { return *field(c) }}
}

// BaseURL returns the public address of the pages without a trailing slash: serve.url or, by default, the address on which the site
// listens.
func (c *Config) BaseURL() string {
	if c.Serve.URL != "" {
		return c.Serve.URL
	}
	host, port, err := net.SplitHostPort(c.Serve.Listen)
	if err != nil || host == "" {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// String returns the provider in one line, without its secret.
func (o Provider) String() string {
	s := fmt.Sprintf("%s client %s", o.Issuer, o.ClientID)
	switch {
	case o.hasSecretFile:
		s += ", secret from " + o.secretFile
	case o.ClientSecret != "":
		s += ", secret from $" + SecretEnv(o.Name)
	default:
		s += ", no secret"
	}
	if o.Create {
		s += ", creates accounts"
	}
	if o.RoleClaim != "" {
		s += ", role from claim " + o.RoleClaim
	}
	if o.DefaultRole != "" {
		s += ", default role " + o.DefaultRole
	}
	return s
}

// together checks the conditions that involve several keys.
func (p *parser) together() {
	c := p.config
	fault := func(key, problem string) {
		p.faults = append(p.faults, Fault{File: p.file, Line: c.origins[key].Line, Key: key, Problem: problem})
	}
	if len(c.Login.OIDC) > 0 && c.Serve.URL == "" {
		fault("login.oidc", "requires serve.url, because providers redirect people to that address")
	}
	if u, err := url.Parse(c.Serve.URL); c.Serve.URL != "" && err == nil && u.Scheme == "http" && !loopback(u.Hostname()) &&
		len(c.Login.OIDC) > 0 {
		fault("serve.url", "must be an https address if people sign in through a provider")
	}
	if c.Login.Password == PasswordAdministrators && len(c.Login.OIDC) == 0 {
		fault("login.password", "login.oidc is empty, so only administrators could sign in")
	}
	p.encoder()
}
