package client

import (
	"context"
	"iter"
	"mime/multipart"
	"net/http"
	"time"

	"concordat"
)

// Version describes the capabilities of a site.
type Version struct {
	API      string           `json:"api"`
	Site     concordat.SiteID `json:"site"`
	Title    string           `json:"title"`
	Scopes   []string         `json:"scopes"`
	Events   []string         `json:"events"`
	Formats  []string         `json:"formats"`
	Adds     bool             `json:"adds_documents"`
	MaxFile  int64            `json:"max_file_bytes"`
	MaxFiles int              `json:"max_files"` // maximum number in one request
	MaxPage  int              `json:"max_page"`
}

// Version returns the capabilities of the site.
func (c *Client) Version(ctx context.Context) (Version, error) {
	var out Version
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/version"}, &out)
	return out, err
}

// Me is the account of a token.
type Me struct {
	Account Person    `json:"account"`
	Scopes  []string  `json:"scopes"`
	Expires time.Time `json:"expires"` // expiry of the token
}

// Me returns the account of the client's token.
func (c *Client) Me(ctx context.Context) (Me, error) {
	var out Me
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/me"}, &out)
	return out, err
}

// Library is a collection of documents.
type Library struct {
	ID        concordat.LibraryID `json:"id"`
	Title     string              `json:"title"`
	Documents int                 `json:"documents"`
	Created   time.Time           `json:"created"`
	Embargo   time.Time           `json:"embargo"` // partners get no answer before this date; zero for none
	Expires   time.Time           `json:"expires"` // the library is not searched on or after this date; zero for never
	Forward   string              `json:"forward"` // what checks ask partners: unmatched, all or none; if empty, the site's setting
	Template  string              `json:"template"`
	Meaning   string              `json:"meaning"`   // off if not indexed by meaning; if empty, the site's setting
	KeepDays  int                 `json:"keep_days"` // days after which a document is deleted; 0 for never
	Central   int64               `json:"central"`   // version of the cluster-wide settings that contain these; 0 if they are local
}

// Libraries returns the libraries of the site sorted by ID.
func (c *Client) Libraries(ctx context.Context) iter.Seq2[Library, error] {
	return list[Library](ctx, c, "/libraries", "libraries", nil)
}

// Library returns one library.
func (c *Client) Library(ctx context.Context, id concordat.LibraryID) (Library, error) {
	var out Library
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/libraries/" + escape(string(id))}, &out)
	return out, err
}

// Document is a document of a library.
type Document struct {
	ID         concordat.DocumentID `json:"id"`
	Title      string               `json:"title"`
	Author     string               `json:"author"`
	Hash       string               `json:"sha256"` // digest of the text
	Bytes      int64                `json:"bytes"`
	Sentences  int                  `json:"sentences"`
	Characters int                  `json:"characters"`
	Scheme     concordat.Scheme     `json:"scheme"`
	Added      time.Time            `json:"added"`
	Changed    time.Time            `json:"changed"`
	Revision   int                  `json:"revision"` // number of texts so far, from 1
	Date       concordat.Date       `json:"date"`     // empty if unknown
	DateBy     concordat.DateOrigin `json:"date_by"`
}

// Documents returns the documents of a library sorted by ID.
func (c *Client) Documents(ctx context.Context, id concordat.LibraryID) iter.Seq2[Document, error] {
	return list[Document](ctx, c, "/libraries/"+escape(string(id))+"/documents", "documents", nil)
}

// NewDocument is a file to be added to a library.
type NewDocument struct {
	File
	ID     concordat.DocumentID // if empty, the file's name; for an archive, the prefix of its members' names
	Title  string               // if empty, the file's own
	Author string               // if empty, the file's own
	Date   concordat.Date       // if empty, the file's own
}

// Added is the outcome of adding a document.
type Added struct {
	File      string               `json:"file"`
	ID        concordat.DocumentID `json:"id"`
	Title     string               `json:"title"`
	Outcome   string               `json:"outcome"` // added, replaced, unchanged or failed
	Sentences int                  `json:"sentences"`
	Cause     string               `json:"cause"` // why it failed
}

// AddDocuments streams files to a library. An unreadable file is listed in the result and does not prevent others from being added.
// Adding the same files again changes nothing.
func (c *Client) AddDocuments(ctx context.Context, lib concordat.LibraryID, docs ...NewDocument) ([]Added, error) {
	var out struct{ Documents []Added }
	err := c.upload(ctx, "/libraries/"+escape(string(lib))+"/documents", nil, func(m *multipart.Writer) error {
		for _, d := range docs {
			for _, f := range [][2]string{{"id", string(d.ID)}, {"title", d.Title}, {"author", d.Author}, {"date", string(d.Date)}} {
				if f[1] == "" {
					continue
				}
				if err := m.WriteField(f[0], f[1]); err != nil {
					return err
				}
			}
			if err := writeFile(m, d.File); err != nil {
				return err
			}
		}
		return nil
	}, &out)
	return out.Documents, err
}

// Partner is another site that a check can ask.
type Partner struct {
	Site      concordat.SiteID `json:"site"`
	Name      string           `json:"name"`
	Told      bool             `json:"told"` // it has announced its open libraries
	Libraries []struct {
		ID    concordat.LibraryID `json:"id"`
		Level concordat.Show      `json:"level"`
	} `json:"libraries"`
}

// Partners returns the sites that a check can ask.
func (c *Client) Partners(ctx context.Context) iter.Seq2[Partner, error] {
	return list[Partner](ctx, c, "/partners", "partners", nil)
}

// Templates returns the names of the section templates.
func (c *Client) Templates(ctx context.Context) ([]string, error) {
	var out struct{ Templates []string }
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/templates"}, &out)
	return out.Templates, err
}
