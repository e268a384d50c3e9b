//go:build linux

package program

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"concordat/instance"
)

// newcomer is a site that concordat serve created in an empty folder, with its administrator, who uses the pages.
type newcomer struct {
	*officer
	dir     string
	process *exec.Cmd
	log     *syncedLog
}

func newNewcomer(t *testing.T, name, administrator string) *newcomer {
	t.Helper()
	n := &newcomer{dir: filepath.Join(t.TempDir(), name)}
	n.officer = &officer{t: t}
	n.start()
	t.Cleanup(n.stop)
	first := regexp.MustCompile(`/first\?key=(\w+)`)
	link := first.FindStringSubmatch(n.log.String())
	for end := time.Now().Add(3 * time.Minute); link == nil; link = first.FindStringSubmatch(n.log.String()) {
		if time.Sleep(20 * time.Millisecond); time.Now().After(end) {
			t.Fatal("no link for the first administrator")
		}
	}
	n.post("/first", url.Values{"key": {link[1]}, "site": {"University of " + name}, "name": {administrator}, "title": {administrator},
		"password": {"a good long secret"}, "again": {"a good long secret"}})
	return n
}

func (n *newcomer) start(args ...string) {
	n.t.Helper()
	n.log = &syncedLog{}
	n.process = program(n.t, n.dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	n.process.Stdout, n.process.Stderr = n.log, n.log
	if err := n.process.Start(); err != nil {
		n.t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if st, err := instance.Serving(n.t.Context(), n.dir); err == nil && st.Process == n.process.Process.Pid {
			n.base = "http://" + st.Listen
			break
		}
		if time.Now().After(end) {
			n.t.Fatalf("it does not serve:\n%s", n.log)
		}
	}
	if n.Client == nil {
		jar, err := cookiejar.New(nil)
		if err != nil {
			n.t.Fatal(err)
		}
		n.Client = &http.Client{Jar: jar}
	}
}

func (n *newcomer) stop() {
	if n.process.ProcessState == nil {
		_ = n.process.Process.Kill()
		_ = n.process.Wait() // it was killed
	}
	if n.t.Failed() {
		n.t.Logf("%s:\n%s", n.dir, n.log)
	}
}

// does sends a form and requires want on the resulting page.
func (n *newcomer) does(path, want string, fields ...string) string {
	n.t.Helper()
	page := n.post(path, values(fields))
	if !strings.Contains(page, want) {
		n.t.Fatalf("%s %v: no %q in\n%s", path, fields, want, page)
	}
	return page
}

// refused sends a form that must be refused with the text want.
func (n *newcomer) refused(path, want string, fields ...string) {
	n.t.Helper()
	r, err := n.PostForm(n.base+path, values(fields))
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // the body was only read
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusBadRequest || !strings.Contains(string(b), want) {
		n.t.Fatalf("%s %v: %s, %v, want %q in\n%s", path, fields, r.Status, err, want, b)
	}
}

// values makes a form from alternating names and values.
func values(fields []string) url.Values {
	f := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		f.Add(fields[i], fields[i+1])
	}
	return f
}

// sends sends a file with fields, as the document forms do, and returns the resulting page.
func (n *newcomer) sends(path, name, text string, fields ...string) string {
	n.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	var err error
	for i := 0; i < len(fields) && err == nil; i += 2 {
		err = m.WriteField(fields[i], fields[i+1])
	}
	if err == nil {
		var f io.Writer
		if f, err = m.CreateFormFile("file", name); err == nil {
			_, err = io.WriteString(f, text)
		}
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return n.read(n.Post(n.base+path, m.FormDataContentType(), &b))
}

// until requests a page until it contains want.
func (n *newcomer) until(path, want string) string {
	n.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		page := n.get(path)
		if strings.Contains(page, want) {
			return page
		}
		if time.Now().After(end) {
			n.t.Fatalf("%s: no %q in\n%s", path, want, page)
		}
	}
}

var (
	invitationText = regexp.MustCompile(`concordat-invite-1\.[A-Za-z0-9_-]{60,}`)
	sixWords       = regexp.MustCompile(`<p class="words"><strong>([a-z ]+)</strong>`)
	partnerLink    = regexp.MustCompile(`/admin/partners/[A-Z0-9-]{50,}`)
)

// TestJoiningByPages: two new sites become partners and members of a federation, and one finds a document of the other, all through the
// forms of their pages. Neither site needs a shell.
func TestJoiningByPages(t *testing.T) {
	north, south := newNewcomer(t, "north", "nora"), newNewcomer(t, "south", "sol")
	const list = "/admin/partners"
	if page := north.get(list); strings.Contains(page, "Make an invitation") || !strings.Contains(page, "The address where partners reach") {
		t.Errorf("the guide begins with the address:\n%s", page)
	}
	north.refused(list, "First enter the address where they can reach it", "action", "invite")
	north.refused(list, "Partners cannot use that address", "action", "address", "address", "http://north.example", "listen", ":0")
	north.refused(list, "cannot listen on that address", "action", "address", "address", "north.example:8421", "listen", "192.0.2.1:8421")
	for _, n := range []*newcomer{north, south} {
		at := freeAddress(t)
		n.does(list, "listens for partners at "+at, "action", "address", "address", at, "listen", at)
	}
	page := north.does(list, "The invitation (shown only once)", "action", "invite", "note", "for the south", "library", "documents",
		"level", "metadata", "purposes", "thesis")
	invitation := invitationText.FindString(page)
	if !strings.Contains(page, "for the south: valid until") || strings.Contains(north.get(list), invitation) {
		t.Errorf("an open invitation, whose text is shown once:\n%s", page)
	}
	north.refused(list, "This site made that invitation", "action", "redeem", "invitation", invitation)
	south.refused(list, "part of it is missing", "action", "redeem", "invitation", invitation[:70])
	page = south.does(list, "Compare the six words", "action", "redeem", "invitation", " "+invitation[:50]+"\n"+invitation[50:])
	words := sixWords.FindStringSubmatch(page)
	toNorth := partnerLink.FindString(page)
	if words == nil || !strings.Contains(page, "University of north") {
		t.Fatalf("the words of the south:\n%s", page)
	}
	// The north sees the pending site at once, tests its address, and shows the same words.
	if page := north.get("/checks"); !strings.Contains(page, "partners waiting for confirmation") {
		t.Errorf("no badge:\n%s", page)
	}
	toSouth := partnerLink.FindString(north.get(list))
	north.does(toSouth, "The site responds at its address", "action", "reach")
	if page := north.get(toSouth); !strings.Contains(page, "<strong>"+words[1]+"</strong>") || !strings.Contains(page, "University of south") {
		t.Fatalf("the words of the north are not %q:\n%s", words[1], page)
	}
	north.refused(toSouth, "The words differ", "action", "confirm", "words", "one two three four five six")
	north.does(toSouth, "Federations in common", "action", "confirm", "words", strings.ToUpper(words[1]))
	south.does(toNorth, "Federations in common", "action", "confirm", "words", "  "+words[1]+" ")
	if page := north.get("/checks"); strings.Contains(page, "partners waiting for confirmation") {
		t.Errorf("the badge stays:\n%s", page)
	}
	south.refused(list, "is already a partner", "action", "redeem", "invitation", invitation)
	testFederationByPages(t, north, south, toNorth, toSouth)
	testSearchByPages(t, north, south, toNorth)
}

func testFederationByPages(t *testing.T, north, south *newcomer, toNorth, toSouth string) {
	t.Helper()
	north.refused("/admin/partners", "not a valid federation name", "action", "federation", "federation", "No Name/")
	north.does("/admin/partners", "led by this site", "action", "federation", "federation", "health")
	north.refused("/admin/partners", "already in a federation with that name", "action", "federation", "federation", "health")
	south.refused(toNorth, "has not yet made this site a member", "action", "join", "federation", "health")
	north.does(toSouth, "<strong>health</strong>", "action", "member", "federation", "health")
	page := south.does(toNorth, "<strong>health</strong>: led by University of north", "action", "join", "federation", "health")
	if !strings.Contains(page, "Documents: sentences, title, author") || !strings.Contains(page, "thesis") {
		t.Errorf("what the north opens:\n%s", page)
	}
}

// testSearchByPages: the north adds a document and the south finds it; the north still works after a restart.
func testSearchByPages(t *testing.T, north, south *newcomer, toNorth string) {
	t.Helper()
	text := prose(3000)
	north.sends("/libraries/documents/documents", "bakers.txt", text)
	north.until("/libraries/documents", "bakers")
	north.does("/admin/settings", "Saved", "was:site.title", "University of north", "value:site.title", "North College")
	south.does(toNorth, "North College", "action", "libraries") // the answer includes its new card
	north.stop()
	north.start()
	site := strings.TrimPrefix(toNorth, "/admin/partners/")
	if page := south.get("/checks/new"); !strings.Contains(page, "<option>thesis</option>") {
		t.Errorf("purposes are a list of what the north opens:\n%s", page)
	}
	link := regexp.MustCompile(`/checks/[a-z0-9-]{8,}`)
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) { // until the north has computed its fingerprints
		page := south.sends("/checks", "essay.txt", text, "partner", site, "purpose", "thesis")
		check := link.FindString(page)
		if check == "" {
			t.Fatalf("no check in\n%s", page)
		}
		page = south.until(check, "state done")
		if strings.Contains(page, "North College") && strings.Contains(page, "bakers") {
			return
		}
		if time.Now().After(end) {
			t.Fatal(fmt.Sprint("the south finds nothing at the north:\n", page))
		}
	}
}
