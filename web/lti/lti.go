package lti

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"concordat"
)

// Version is the LTI version of every message.
const Version = "1.3.0"

// Types of messages and notices.
const (
	TypeResourceLink = "LtiResourceLinkRequest"
	TypeDeepLinking  = "LtiDeepLinkingRequest"
	TypeSettings     = "LtiAssetProcessorSettingsRequest"
	TypeReview       = "LtiReportReviewRequest"

	NoticeSubmission = "LtiAssetProcessorSubmissionNotice"

	// ItemProcessor is the content item that makes the site a processor of an activity.
	ItemProcessor = "ltiAssetProcessor"
)

// Scopes of access tokens.
const (
	ScopeNotices = "https://purl.imsglobal.org/spec/lti/scope/noticehandlers"
	ScopeAssets  = "https://purl.imsglobal.org/spec/lti/scope/asset.readonly"
	ScopeReports = "https://purl.imsglobal.org/spec/lti/scope/report"
)

const (
	claimPrefix = "https://purl.imsglobal.org/spec/lti/claim/"
	// apPrefix is the claim prefix used in drafts of the asset processor specification, which some platforms still use.
	apPrefix = "https://purl.imsglobal.org/spec/lti-ap/claim/"
	dlPrefix = "https://purl.imsglobal.org/spec/lti-dl/claim/"
)

// Platform is the registration of a learning platform.
type Platform struct {
	Issuer, ClientID           string
	AuthURL, TokenURL, KeysURL string
	TokenAudience              string   // audience of token requests; the default is TokenURL
	Deployments                []string // accepted deployments; "*" accepts any
	Hosts                      []string // service hosts in addition to those of the addresses above; a leading dot includes subdomains
}

// Validate reports all errors in the registration. Unless private is set, every address must use https.
func (p *Platform) Validate(private bool) error {
	var bad []string
	if p.Issuer == "" || len(p.Issuer) > 1000 {
		bad = append(bad, "issuer is missing or too long")
	}
	if p.ClientID == "" || len(p.ClientID) > 1000 {
		bad = append(bad, "client id is missing or too long")
	}
	for name, address := range map[string]string{"sign-in": p.AuthURL, "token": p.TokenURL, "key": p.KeysURL} {
		if _, err := service(address, private); err != nil {
			bad = append(bad, fmt.Sprintf("%s address: %v", name, err))
		}
	}
	for _, h := range p.Hosts {
		name := strings.TrimPrefix(h, ".")
		if _, err := netip.ParseAddrPort(name); name == "" || strings.ContainsAny(name, "/:@ ?#*") && err != nil {
			bad = append(bad, fmt.Sprintf("host %q: want a name such as files.example.edu or .example.edu", h))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.Sort(bad)
	return fmt.Errorf("%w: %s", concordat.ErrInvalid, strings.Join(bad, "; "))
}

// service parses the address of a service.
func service(address string, private bool) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, err
	case u.Host == "" || u.User != nil || len(address) > 4000:
		return nil, fmt.Errorf("%q is not a valid address", address)
	case u.Scheme != "https" && !(private && u.Scheme == "http"):
		return nil, fmt.Errorf("%q: want https", address)
	}
	return u, nil
}

// Serves reports whether u is at a host of the platform.
func (p *Platform) Serves(u *url.URL) bool {
	for _, own := range []string{p.Issuer, p.AuthURL, p.TokenURL, p.KeysURL} {
		if o, err := url.Parse(own); err == nil && o.Host != "" && strings.EqualFold(o.Host, u.Host) {
			return true
		}
	}
	host, name := strings.ToLower(u.Host), strings.ToLower(u.Hostname())
	for _, h := range p.Hosts {
		h = strings.ToLower(h)
		if h == host || h == name || strings.HasPrefix(h, ".") && (strings.HasSuffix(name, h) || name == h[1:]) {
			return true
		}
	}
	return false
}

// Deployed reports whether messages of the deployment are accepted.
func (p *Platform) Deployed(id string) bool {
	return id != "" && (slices.Contains(p.Deployments, id) || slices.Contains(p.Deployments, "*"))
}

// Origins returns the origins of the platform's pages, which may embed pages of the site in a frame.
func (p *Platform) Origins() []string {
	var out []string
	for _, own := range []string{p.Issuer, p.AuthURL} {
		u, err := url.Parse(own)
		if err != nil || u.Host == "" || strings.ContainsAny(u.Host, " ;,'\"") {
			continue
		}
		if o := u.Scheme + "://" + u.Host; !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	for _, h := range p.Hosts {
		if name, below := strings.CutPrefix(h, "."); below {
			out = append(out, "https://"+name, "https://*."+name)
		} else {
			out = append(out, "https://"+h)
		}
	}
	return out
}

// Named is an object in a platform's message.
type Named struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Asset is a file that a platform wants checked.
type Asset struct {
	ID       string `json:"asset_id"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	Filename string `json:"filename"`
	Media    string `json:"content_type"`
	Digest   string `json:"sha256_checksum"` // in base64
	Size     int64  `json:"size"`            // in bytes, according to the platform
}

// Message is a message from a platform, sent through a browser or directly. Trust only messages returned by [Client.Verify].
type Message struct {
	Issuer, Subject, Nonce string
	Name, Locale           string
	Type                   string
	Deployment             string
	Target                 string // address that the browser requested
	Roles                  []string
	Context                Named
	Link                   Named // the resource link
	Activity               Named
	Submission             Named
	Asset                  Named // set for TypeReview
	ReportType             string
	ForUser                string // author of the work
	Custom                 map[string]string
	DeepLinking            *DeepLinking
	Notices                *NoticeService
	Notice                 *Notice
	Assets                 []Asset
	AssetScopes            []string
	ReportURL              string
	ReportScopes           []string
}

// DeepLinking describes how the platform accepts content items (Deep Linking 2.0, section 4.4.1).
type DeepLinking struct {
	ReturnURL string          `json:"deep_link_return_url"`
	Accept    []string        `json:"accept_types"`
	Data      json.RawMessage `json:"data"`
}

// NoticeService is the service through which a tool subscribes to notices (Platform Notification Service 1.0).
type NoticeService struct {
	URL    string   `json:"platform_notification_service_url"`
	Types  []string `json:"notice_types_supported"`
	Scopes []string `json:"scope"`
}

// Notice identifies a notice.
type Notice struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// Roles of people in a course (LTI Core 1.3, appendix A.2).
const (
	membership = "http://purl.imsglobal.org/vocab/lis/v2/membership"
	personal   = "http://purl.imsglobal.org/vocab/lis/v2/"
)

// Teaches reports whether the message is from someone who teaches or administers its course. Being a teacher elsewhere at the institution
// is not enough.
func (m *Message) Teaches() bool {
	return slices.ContainsFunc(m.Roles, func(r string) bool {
		switch r {
		case membership + "#Instructor", membership + "#Administrator", membership + "#Manager", "Instructor",
			personal + "institution/person#Administrator", personal + "system/person#Administrator", personal + "system/person#SysAdmin":
			return true
		}
		return strings.HasPrefix(r, membership+"/Instructor#") || strings.HasPrefix(r, membership+"/Administrator#")
	})
}
