package oai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"concordat/harvest/fetch"
	"concordat/harvest/xmltree"
)

// Client reads a repository. It is safe for concurrent use.
type Client struct {
	Fetch *fetch.Client
	Base  string // address of the interface
}

const (
	maxPage   = 128 << 20 // bytes of one answer
	maxRecord = 32 << 20
	maxToken  = 16 << 10
)

// Error is a condition reported by the repository, identified by the protocol's code, for example badResumptionToken.
type Error struct{ Code, Words string }

// Error returns the condition.
func (e *Error) Error() string {
	if e.Words == "" {
		return "the repository reported " + e.Code
	}
	return "the repository reported " + e.Code + ": " + e.Words
}

// The codes on which callers act.
const (
	BadToken = "badResumptionToken"
	NoMatch  = "noRecordsMatch"
)

// ErrProtocol means that an answer does not follow the protocol.
var ErrProtocol = errors.New("the response does not come from an OAI-PMH interface")

// Repository is a repository's description of itself.
type Repository struct {
	Name    string
	Deleted string // support for deleted records: persistent, transient or no
	Day     bool   // dates have a granularity of days, otherwise of seconds
}

// Identify requests the repository's description of itself.
func (c *Client) Identify(ctx context.Context) (Repository, error) {
	b, err := c.ask(ctx, url.Values{"verb": {"Identify"}})
	if err != nil {
		return Repository{}, fmt.Errorf("identify: %w", err)
	}
	tree, err := xmltree.Parse(b)
	if err != nil {
		return Repository{}, fmt.Errorf("identify: %w", err)
	}
	n := tree.First("Identify")
	if n == nil {
		return Repository{}, fmt.Errorf("identify: %w", ErrProtocol)
	}
	if v := n.First("protocolVersion").Words(); v != "" && v != "2.0" {
		return Repository{}, fmt.Errorf("identify: unsupported protocol version %.20q; want 2.0", v)
	}
	return Repository{Name: n.First("repositoryName").Words(),
		Deleted: n.First("deletedRecord").Words(), Day: !strings.Contains(n.First("granularity").Words(), "T")}, nil
}

// Formats returns the prefixes of the repository's metadata formats.
func (c *Client) Formats(ctx context.Context) ([]string, error) {
	b, err := c.ask(ctx, url.Values{"verb": {"ListMetadataFormats"}})
	if err != nil {
		return nil, fmt.Errorf("formats: %w", err)
	}
	tree, err := xmltree.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("formats: %w", err)
	}
	return tree.Texts("metadataPrefix"), nil
}

// Query selects the records to list. If Token is set, the other fields are not sent.
type Query struct{ Format, Set, From, Token string }

// Page is one page of a list.
type Page struct {
	Records []Record
	Token   string // where the list continues; empty at the end
	Size    int    // size of the list according to the repository; 0 if unknown
	Date    string // time of the answer by the repository's clock
}

// Record is a record of a repository.
type Record struct {
	ID      string
	Stamp   string
	Deleted bool
	Raw     []byte        // the whole record
	Meta    *xmltree.Node // the metadata; nil for none
	Err     error         // why the record cannot be read
}

// List reads one page. If nothing matches, the page is empty.
func (c *Client) List(ctx context.Context, q Query) (*Page, error) {
	v := url.Values{"verb": {"ListRecords"}}
	if q.Token != "" {
		v.Set("resumptionToken", q.Token)
	} else {
		v.Set("metadataPrefix", q.Format)
		for key, value := range map[string]string{"set": q.Set, "from": q.From} {
			if value != "" {
				v.Set(key, value)
			}
		}
	}
	b, err := c.ask(ctx, v)
	if refused := (*Error)(nil); errors.As(err, &refused) && refused.Code == NoMatch {
		return &Page{Date: dateIn(b)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	p, err := Read(b)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return p, nil
}

// Get reads one record. It fails with ErrProtocol if the answer contains another record.
func (c *Client) Get(ctx context.Context, id, format string) (Record, error) {
	b, err := c.ask(ctx, url.Values{"verb": {"GetRecord"}, "identifier": {id}, "metadataPrefix": {format}})
	if err != nil {
		return Record{}, fmt.Errorf("get: %w", err)
	}
	p, err := Read(b)
	if err == nil && (len(p.Records) != 1 || p.Records[0].ID != id) {
		err = ErrProtocol
	}
	if err != nil {
		return Record{}, fmt.Errorf("get: %w", err)
	}
	return p.Records[0], nil
}

// ask sends a request and returns the cleaned answer. It returns a condition reported by the repository as the error.
func (c *Client) ask(ctx context.Context, q url.Values) ([]byte, error) {
	u, err := url.Parse(c.Base)
	if err != nil {
		return nil, err
	}
	all := u.Query() // an interface's address can contain parameters
	for key, value := range q {
		all[key] = value
	}
	u.RawQuery = all.Encode()
	r, err := c.Fetch.Open(ctx, u.String(), fetch.Want{Accept: "text/xml, application/xml", Protocol: true, Most: maxPage})
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	b = xmltree.Clean(b, charsetOf(r.Header.Get("Content-Type")))
	return b, conditionIn(b)
}

func charsetOf(contentType string) string {
	_, after, _ := strings.Cut(strings.ToLower(contentType), "charset=")
	return strings.Trim(strings.TrimSpace(after), `"'`)
}

var (
	rootTag    = regexp.MustCompile(`<(?:[A-Za-z_][\w.-]*:)?OAI-PMH[\s>]`)
	rootEnd    = regexp.MustCompile(`</(?:[A-Za-z_][\w.-]*:)?OAI-PMH\s*>`)
	recordTag  = regexp.MustCompile(`<(?:[A-Za-z_][\w.-]*:)?record(?:\s[^>]*)?>(?:\s|<!--[^>]{0,1000}-->)*<(?:[A-Za-z_][\w.-]*:)?header[\s/>]`)
	listEnd    = regexp.MustCompile(`</(?:[A-Za-z_][\w.-]*:)?(?:ListRecords|GetRecord)\s*>|<(?:[A-Za-z_][\w.-]*:)?resumptionToken[\s/>]`)
	conditions = regexp.MustCompile(`<(?:[A-Za-z_][\w.-]*:)?error\s[^>]*code\s*=\s*["']([A-Za-z]{1,40})["'][^>]*?(?:/>|>([^<]{0,500}))`)
	tokens     = regexp.MustCompile(`<(?:[A-Za-z_][\w.-]*:)?resumptionToken([^>]*?)(?:/>|>\s*(?:<!\[CDATA\[)?([^<\]]*))`)
	sizes      = regexp.MustCompile(`completeListSize\s*=\s*["']\s*([0-9]{1,12})\s*["']`)
	dates      = regexp.MustCompile(`<(?:[A-Za-z_][\w.-]*:)?responseDate[^>]*>\s*([0-9TZ:.+-]{10,40})`)
	names      = regexp.MustCompile(`<(?:[A-Za-z_][\w.-]*:)?identifier[^>]*>\s*([^<]{1,1000}?)\s*<`)
)

// conditionIn returns the condition that an answer reports, ErrProtocol if b is not a valid answer, or nil.
func conditionIn(b []byte) error {
	if !rootTag.Match(b) {
		return ErrProtocol
	}
	head := b
	if at := recordTag.FindIndex(b); at != nil {
		head = b[:at[0]]
	}
	if m := conditions.FindSubmatch(head); m != nil {
		return &Error{string(m[1]), strings.TrimSpace(html.UnescapeString(string(m[2])))}
	}
	return nil
}

// tokenIn returns the resumption token and the size of the list.
func tokenIn(b []byte) (token string, size int) {
	all := tokens.FindAllSubmatch(b, -1)
	if len(all) == 0 {
		return "", 0
	}
	last := all[len(all)-1]
	if m := sizes.FindSubmatch(last[1]); m != nil {
		size, _ = strconv.Atoi(string(m[1])) // up to 12 digits
	}
	return strings.TrimSpace(html.UnescapeString(string(last[2]))), size
}

func dateIn(b []byte) string {
	if m := dates.FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return ""
}

// Read splits a ListRecords answer into records; a faulty record does not affect the others. It fails if the answer is truncated.
func Read(b []byte) (*Page, error) {
	starts := recordTag.FindAllIndex(b, -1)
	tail := b
	p := &Page{Date: dateIn(b)}
	for i, at := range starts {
		end := len(b)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		} else if ends := listEnd.FindAllIndex(b[at[0]:], -1); ends != nil {
			end = at[0] + lastOf(ends, b[at[0]:])
		}
		p.Records = append(p.Records, readRecord(bytes.TrimSpace(b[at[0]:end])))
		tail = b[end:]
	}
	p.Token, p.Size = tokenIn(tail)
	switch {
	case p.Token == "" && !rootEnd.Match(tail):
		return nil, fmt.Errorf("the response was truncated: %w", io.ErrUnexpectedEOF)
	case len(p.Token) > maxToken:
		return nil, fmt.Errorf("resumption token of %d bytes exceeds the maximum of %d", len(p.Token), maxToken)
	}
	return p, nil
}

// lastOf returns the end of a page's last record, which is the position of the token after it, or the end of the list. It does not search
// within the record, where the protocol's keywords can occur as text.
func lastOf(ends [][]int, b []byte) int {
	last := ends[len(ends)-1]
	if i := len(ends) - 2; i >= 0 && bytes.HasPrefix(b[last[0]:], []byte("</")) && !bytes.HasPrefix(b[ends[i][0]:], []byte("</")) {
		last = ends[i]
	}
	return last[0]
}

func readRecord(raw []byte) Record {
	r := Record{Raw: raw}
	if m := names.FindSubmatch(raw); m != nil {
		r.ID = html.UnescapeString(string(m[1]))
	}
	if len(raw) > maxRecord {
		r.Err = fmt.Errorf("record of %d bytes exceeds the maximum of %d", len(raw), maxRecord)
		return r
	}
	tree, err := xmltree.Parse(raw)
	if err != nil {
		r.Err = err
		return r
	}
	header := tree.First("header")
	r.Stamp, r.Deleted = header.First("datestamp").Words(), strings.EqualFold(header.Attr("status"), "deleted")
	if id := header.First("identifier").Words(); id != "" {
		r.ID = id
	}
	if meta := tree.First("metadata"); meta != nil && len(meta.Kids) > 0 {
		r.Meta = meta.Kids[0]
	}
	switch {
	case r.ID == "":
		r.Err = errors.New("missing identifier")
	case r.Meta == nil && !r.Deleted:
		r.Err = errors.New("missing metadata")
	}
	return r
}
