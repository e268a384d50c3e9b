package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/people"
	"concordat/site/retain"
	"concordat/store"
	"concordat/view"
	"concordat/web/bounds"
	"concordat/web/limit"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/intake"
)

// keepers can read libraries and add documents to them.
var (
	keepers = pages.Officers
	lookers = []store.Role{store.RoleAdministrator, store.RoleOfficer, store.RoleAuditor}
)

func (w adminAPI) apiOfLibraries(a huma.API) {
	get := func(id, path, summary, scope string, roles []store.Role) operation {
		return operation{id: id, method: http.MethodGet, path: path, summary: summary, scope: scope, roles: roles}
	}
	register(w.api, a, get("list-libraries", "/libraries", "Libraries of this site", scopeRead, pages.Everyone), w.apiLibraries)
	register(w.api, a, get("get-library", "/libraries/{id}", "One library", scopeRead, pages.Everyone), w.apiOneLibrary)
	register(w.api, a, get("list-documents", "/libraries/{id}/documents", "Documents of a library, by id", scopeDocuments, lookers),
		w.apiDocuments)
	register(w.api, a, get("list-partners", "/partners", "Partner sites that a check can ask, with their libraries, by site",
		scopeRead, pages.Everyone), w.apiPartners)
	register(w.api, a, get("list-templates", "/templates", "Section templates", scopeRead, pages.Everyone), w.apiTemplates)
	register(w.api, a, get("get-version", "/version", "Capabilities and limits of this site", scopeRead, pages.Everyone), w.apiVersion)
	w.apiOfShares(a)
	wordingAPI(w).operations(a)
	w.api.stream(a, operation{id: "add-documents", method: http.MethodPost, path: "/libraries/{id}/documents",
		summary: "Add documents to a library", scope: scopeDocuments, roles: keepers,
		text: "Fields apply to the file after them. The response is sent when every document has been added or has failed; a document that cannot be read does not stop the others. " +
			"A document replaces an existing one with the same id; the same text again changes nothing, so an interrupted request can be repeated."},
		func(o *huma.Operation) {
			o.Parameters = []*huma.Param{pathParam("id")}
			o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: addForm}}}
			o.Responses = map[string]*huma.Response{"200": answers("The outcome for each document", "application/json", schemaOf[apiAddedBody](a))}
		}, w.apiAdd)
}

var addForm = &huma.Schema{Type: "object", AdditionalProperties: false, Required: []string{"file"}, Properties: map[string]*huma.Schema{
	"id":     {Type: "string", Pattern: `^[^\x00-\x1f\x7f-\x9f]*$`, Description: "Id of the next file's document; empty: the name of the file"},
	"title":  {Type: "string", Description: "Title; empty: the file's own"},
	"author": {Type: "string", Description: "Author; empty: the file's own"},
	"date": {Type: "string", AnyOf: []*huma.Schema{{Format: "date"}, {Pattern: `^([0-9]{4}(-(0[1-9]|1[0-2]))?)?$`}},
		Description: "Date: YYYY, YYYY-MM or YYYY-MM-DD; empty: the file's own"},
	"file": filesOf("Documents, or ZIP files of them"),
}}

type apiLibrariesOutput struct {
	Body struct {
		Libraries []view.Library `json:"libraries" nullable:"false"`
		Next      string         `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiLibraries(ctx context.Context, in *bounds.PageInput) (*apiLibrariesOutput, error) {
	ls, err := w.api.Web.Options().Store.Catalogue.Libraries(ctx)
	out := &apiLibrariesOutput{}
	out.Body.Libraries = []view.Library{}
	if err == nil {
		ls, out.Body.Next, err = bounds.PageOf(in, listOfLibraries, ls, func(l store.Library) concordat.LibraryID { return l.ID })
	}
	for _, l := range ls {
		out.Body.Libraries = append(out.Body.Libraries, view.OfLibrary(l))
	}
	return out, err
}

type apiLibraryInput struct {
	ID string `path:"id"`
}

type apiLibraryOutput struct{ Body view.Library }

func (w adminAPI) apiOneLibrary(ctx context.Context, in *apiLibraryInput) (*apiLibraryOutput, error) {
	l, err := w.api.Web.Options().Store.Catalogue.Library(ctx, concordat.LibraryID(in.ID))
	return &apiLibraryOutput{view.OfLibrary(l)}, err
}

// apiDocument is a library document in the API's form.
type apiDocument struct {
	ID         concordat.DocumentID `json:"id"`
	Title      string               `json:"title"`
	Author     string               `json:"author,omitempty"`
	Hash       string               `json:"sha256" doc:"SHA-256 of the text"`
	Bytes      int64                `json:"bytes" doc:"Length of the text in bytes"`
	Sentences  int                  `json:"sentences" doc:"Number of indexed sentences"`
	Characters int                  `json:"characters"`
	Scheme     concordat.Scheme     `json:"scheme"`
	Added      time.Time            `json:"added"`
	Changed    time.Time            `json:"changed" doc:"When the text was edited"`
	Revision   int                  `json:"revision" doc:"Number of texts so far, from 1"`
	Date       concordat.Date       `json:"date,omitempty"`
	DateBy     concordat.DateOrigin `json:"date_by,omitempty" doc:"Origin of the date"`
}

type apiDocumentsOutput struct {
	Body struct {
		Documents []apiDocument `json:"documents" nullable:"false"`
		Next      string        `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiDocuments(ctx context.Context, in *apiListInput) (*apiDocumentsOutput, error) {
	lib := concordat.LibraryID(in.ID)
	if _, err := w.api.Web.Options().Store.Catalogue.Library(ctx, lib); err != nil {
		return nil, err
	}
	var after string
	if err := listOfDocuments.Read(in.Cursor, &after); err != nil {
		return nil, err
	}
	rows, err := w.api.Web.Options().Store.Catalogue.Documents(ctx, lib, concordat.DocumentID(after), in.Limit)
	out := &apiDocumentsOutput{}
	out.Body.Documents = []apiDocument{}
	for _, d := range rows {
		out.Body.Documents = append(out.Body.Documents, apiDocument{d.ID, d.Title, d.Author, d.Hash, d.Bytes, d.Sentences, d.Characters,
			d.Scheme,
			d.Added, d.Changed, d.Revision, d.Dated, d.DatedBy})
	}
	if len(rows) == in.Limit {
		out.Body.Next = listOfDocuments.Cursor(rows[len(rows)-1].ID)
	}
	return out, err
}

type apiPartner struct {
	Site      concordat.SiteID `json:"site"`
	Name      string           `json:"name"`
	Libraries []apiOpenLibrary `json:"libraries" nullable:"false"`
	Told      bool             `json:"told" doc:"Whether the partner has listed the libraries that it opens"`
}

type apiOpenLibrary struct {
	ID    concordat.LibraryID `json:"id"`
	Level concordat.Show      `json:"level" doc:"The most that the partner shows of the library"`
}

type apiPartnersOutput struct {
	Body struct {
		Partners []apiPartner `json:"partners" nullable:"false"`
		Next     string       `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiPartners(ctx context.Context, in *bounds.PageInput) (*apiPartnersOutput, error) {
	all, err := w.api.Web.Options().Choices.Partners(ctx)
	out := &apiPartnersOutput{}
	out.Body.Partners = []apiPartner{}
	if err == nil {
		all, out.Body.Next, err = bounds.PageOf(in, listOfPartners, all, func(p pages.Partner) concordat.SiteID { return p.Site })
	}
	for _, p := range all {
		one := apiPartner{p.Site, p.Name, []apiOpenLibrary{}, p.Libraries != nil}
		for _, l := range p.Libraries {
			one.Libraries = append(one.Libraries, apiOpenLibrary{l.ID, l.Level})
		}
		out.Body.Partners = append(out.Body.Partners, one)
	}
	return out, err
}

type apiTemplatesOutput struct {
	Body struct {
		Templates []string `json:"templates" nullable:"false" doc:"Names of templates for submit-checks"`
	}
}

func (w adminAPI) apiTemplates(context.Context, *struct{}) (*apiTemplatesOutput, error) {
	out := &apiTemplatesOutput{}
	out.Body.Templates = append([]string{}, w.api.Web.Options().Choices.Templates()...)
	return out, nil
}

type apiVersionOutput struct {
	Body struct {
		API      string            `json:"api" doc:"Version of the interface, in semantic versioning"`
		Site     concordat.SiteID  `json:"site"`
		Title    string            `json:"title"`
		Scopes   []string          `json:"scopes" nullable:"false" doc:"Scopes that a token can have"`
		Events   []store.EventKind `json:"events" nullable:"false" doc:"Events that a webhook can subscribe to"`
		Formats  []string          `json:"formats" nullable:"false" doc:"Formats of reports"`
		Adds     bool              `json:"adds_documents" doc:"Whether add-documents works here"`
		MaxFile  int64             `json:"max_file_bytes"`
		MaxFiles int               `json:"max_files" doc:"Maximum number of files in one request"`
		MaxPage  int               `json:"max_page"`
	}
}

func (w adminAPI) apiVersion(context.Context, *struct{}) (*apiVersionOutput, error) {
	out := &apiVersionOutput{}
	b := &out.Body
	o := w.api.Web.Options()
	b.API, b.Site, b.Title, b.Scopes, b.Events = apiVersion, o.Site.ID(), o.Current.Title(), people.Scopes, store.EventKinds()
	b.Formats, b.Adds = []string{"json", "csv", "html", "pdf"}, o.Adder != nil
	b.MaxFile, b.MaxFiles, b.MaxPage = o.MaxUpload, pages.MaxFiles, 500
	return out, nil
}

type apiAdded struct {
	File      string               `json:"file"`
	ID        concordat.DocumentID `json:"id"`
	Title     string               `json:"title,omitempty"`
	Outcome   string               `json:"outcome" enum:"added,replaced,unchanged,failed"`
	Sentences int                  `json:"sentences"`
	Cause     string               `json:"cause,omitempty" doc:"Why it failed"`
}

type apiAddedBody struct {
	Documents []apiAdded         `json:"documents" nullable:"false"`
	Failed    int                `json:"failed" doc:"Number of documents that failed"`
	LeftOut   *concordat.LeftOut `json:"left_out,omitempty" doc:"Lock and system files of archives that were not read, such as .DS_Store; absent: none"`
}

// apiAdd adds files to a library while they are being received.
func (w adminAPI) apiAdd(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) error {
	l, err := w.api.Web.Options().Store.Catalogue.Library(r.Context(), concordat.LibraryID(r.PathValue("id")))
	if err != nil {
		return err
	}
	if w.api.Web.Options().Adder == nil {
		return fmt.Errorf("%w: documents cannot be added here", concordat.ErrUnavailable)
	}
	limit.Unhurried(rw, r)
	r.Body = http.MaxBytesReader(rw, r.Body, pages.MaxFiles*w.api.Web.Options().MaxUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		return fmt.Errorf("%w %w", message.Invalid("wrong.form"), err)
	}
	out := &apiAddedBody{Documents: []apiAdded{}}
	if err := intake.ReadAdded(parts, func(f intake.AddedFile, content io.Reader) error {
		return w.addFile(rw, r, v, l.ID, f, content, out)
	}); err != nil {
		return err
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(out) // a disconnected caller can safely repeat the request, since repeating changes nothing
	return nil
}

func (w adminAPI) addFile(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, lib concordat.LibraryID, f intake.AddedFile,
	content io.Reader,
	out *apiAddedBody) error {
	// The audit entry is written first because the documents of one file may be added in several transactions. Instead of the document's
	// name, which may be a person's, it contains the hash used in receipts, because audit entries are kept forever.
	if err := w.api.Web.Options().Store.Audit.Note(r.Context(), v.Name, "documents_added", map[string]any{"library": lib,
		"name": retain.DocumentName(lib, f.ID)}); err != nil {
		return err
	}
	o := w.api.Web.Options()
	bounded := http.MaxBytesReader(rw, io.NopCloser(w.api.Web.Intake.WhileRoom(content)), o.MaxUpload)
	docs, err := o.Adder.AddFile(r.Context(), lib, f, bounded)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	for _, d := range docs {
		if !d.LeftOut.IsZero() {
			if out.LeftOut == nil {
				out.LeftOut = &concordat.LeftOut{}
			}
			out.LeftOut.Join(d.LeftOut)
		}
		one := apiAdded{f.Name, d.ID, d.Title, string(d.Outcome), d.Sentences, ""}
		if d.Err != nil {
			one.Outcome, one.Cause = "failed", d.Err.Error()
			out.Failed++
		}
		out.Documents = append(out.Documents, one)
	}
	return nil
}
