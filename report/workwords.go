package report

import (
	"strings"

	"concordat"
)

// PageWords returns the link text for the page of a repository.
func (l Language) PageWords(repository string) string {
	if repository == "" {
		return l.Say("page in the repository")
	}
	return l.Say("page in the repository (%s)", repository)
}

// AuthorWords returns the names of authors.
func AuthorWords(all []concordat.Creator) string { return concordat.Work{Creators: all}.Authors() }

// AlsoWords describes the other locations of a source's work, or returns "" if there are none.
func AlsoWords(r *Report, s RankedSource) string {
	if len(s.Also) == 0 {
		return ""
	}
	places := make([]string, len(s.Also))
	for i, c := range s.Also {
		places[i] = r.Place(c.Ref)
	}
	return r.Language.Say("The same work, also in ") + strings.Join(places, r.Language.Say("; "))
}

// Addresses returns the URLs at which the identifiers of a source's work resolve.
func (s RankedSource) Addresses() (out []string) {
	if s.Work == nil {
		return nil
	}
	for _, id := range s.Work.IDs {
		if at := id.URL(); at != "" {
			out = append(out, at)
		}
	}
	return out
}

// The JSON form of works.
type (
	jsonWork struct {
		Title      string         `json:"title,omitempty"`
		Creators   []jsonCreator  `json:"creators"`
		Date       concordat.Date `json:"date,omitempty"`
		License    string         `json:"license,omitempty"`
		IDs        []jsonWorkID   `json:"ids"`
		Page       string         `json:"page,omitempty"`
		Repository string         `json:"repository,omitempty"`
	}
	jsonCreator struct {
		Name     string `json:"name"`
		ORCID    string `json:"orcid,omitempty"`
		ORCIDURL string `json:"orcid_url,omitempty"`
		ROR      string `json:"ror,omitempty"`
		RORURL   string `json:"ror_url,omitempty"`
	}
	jsonWorkID struct {
		Scheme string `json:"scheme"`
		Value  string `json:"value"`
		URL    string `json:"url,omitempty"`
	}
	jsonCopy struct {
		Site     concordat.SiteID     `json:"site"`
		Library  concordat.LibraryID  `json:"library"`
		Document concordat.DocumentID `json:"document"`
		Title    string               `json:"title"`
		Page     string               `json:"page,omitempty"`
	}
	jsonOwnWork struct {
		By     string `json:"by"`
		Author string `json:"author"`
		ORCID  string `json:"orcid,omitempty"`
	}
)

func jsonCreators(all []concordat.Creator) []jsonCreator {
	out := make([]jsonCreator, 0, len(all))
	for _, c := range all {
		out = append(out, jsonCreator{c.Name, c.ORCID, c.URL(), c.ROR, c.OrganisationURL()})
	}
	return out
}

func (j *jsonRanked) addWork(s RankedSource) {
	if w := s.Work; w != nil {
		j.Work = &jsonWork{w.Title, jsonCreators(w.Creators), w.Date, w.License, []jsonWorkID{}, w.PageURL(), w.Repository}
		for _, id := range w.IDs {
			j.Work.IDs = append(j.Work.IDs, jsonWorkID{id.Scheme, id.Value, id.URL()})
		}
	}
	for _, c := range s.Also {
		j.Also = append(j.Also, jsonCopy{c.Site, c.Library, c.Document, c.Title, c.Page})
	}
	j.Own = s.Own.json()
}

func (o *OwnWork) json() *jsonOwnWork {
	if o == nil {
		return nil
	}
	return &jsonOwnWork{o.By, o.Author, o.ORCID}
}
