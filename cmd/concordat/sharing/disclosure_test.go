package sharing_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/program"
	"concordat/instance"
	"concordat/store"
)

// TestDisclosureCommands decides on a partner's requests with commands.
func TestDisclosureCommands(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	command := func(code int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if got := program.Run(t.Context(), append([]string{"--data", dir}, args...), strings.NewReader(""), &out, &errs); got != code {
			t.Fatalf("%v exits with %d, want %d: %s", args, got, code, &errs)
		}
		return out.String() + errs.String()
	}
	command(cli.Done, "init", "--site", "uni")
	command(cli.Done, "library", "create", "theses")
	const wanted = "What follows is the passage that a partner wants to read."
	text := "The commission shall publish a report. " + wanted + " The rest is silence."
	table := filepath.Join(t.TempDir(), "docs.tsv")
	if err := os.WriteFile(table, []byte("a\tTitle\t"+text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command(cli.Done, "add", "--library", "theses", table)
	at := strings.Index(text, wanted)
	withStore(t, dir, func(ctx context.Context, o *instance.Instance) error {
		row, err := o.Store.Catalogue.DocumentRow(ctx, "theses", "a")
		if err != nil {
			return err
		}
		for id, hash := range map[string]string{"one": row.Hash, "two": row.Hash, "gone": "of another text"} {
			d := store.Disclosure{ID: id, Direction: store.DisclosureIn, Partner: "north", Job: concordat.JobID{id[0]}, Library: "theses",
				Document: "a", Hash: hash,
				Spans: []concordat.Span{{Start: at, End: at + len(wanted)}}, Reason: "an examination", Contact: "dean@north",
				State: concordat.DisclosurePending, Until: time.Now().Add(time.Hour)}
			if err := o.Store.Answers.PutDisclosure(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if out := command(cli.Done, "disclosure", "list", "--state", "pending"); strings.Count(out,
		"north asks for 1 passages of theses/a") != 3 || !strings.Contains(out, "an examination (dean@north)") {
		t.Errorf("got %s", out)
	}
	if out := command(cli.Misused, "disclosure", "show", "gone"); !strings.Contains(out, "its document was deleted") {
		t.Errorf("got %s", out)
	}
	if out := command(cli.Done, "disclosure", "show", "one"); !strings.Contains(out, "\n"+wanted+"\n") || strings.Contains(out, "silence") {
		t.Errorf("got %s", out)
	}
	if out := command(cli.Done, "disclosure", "approve", "one", "--words", "in order", "--as", "librarian",
		"--json"); !strings.Contains(out, `"state":"granted"`) || !strings.Contains(out, `"actor":"librarian"`) {
		t.Errorf("got %s", out)
	}
	if out := command(cli.Misused, "disclosure", "approve", "one"); !strings.Contains(out, "the request is granted") {
		t.Errorf("got %s", out)
	}
	if out := command(cli.Misused, "disclosure", "refuse", "two"); out != "concordat: a reason is required and will be sent to the partner\n" {
		t.Errorf("got %s", out)
	}
	if out := command(cli.Done, "disclosure", "refuse", "two", "--words", "no case is named"); !strings.Contains(out, "refused") {
		t.Errorf("got %s", out)
	}
	if out := command(cli.Misused, "disclosure", "withdraw", "two", "--words", "a mistake"); !strings.Contains(out, "request is refused") {
		t.Errorf("got %s", out)
	}
	if out := command(cli.Done, "disclosure", "withdraw", "one", "--words", "a mistake"); !strings.Contains(out, "withdrawn") {
		t.Errorf("got %s", out)
	}
	withStore(t, dir, func(ctx context.Context, o *instance.Instance) error {
		notices, err := o.Answers.Notices.Outbox(ctx, 0)
		if len(notices) != 3 || notices[0].Notice.Kind != concordat.NoticeDisclosure || notices[2].Notice.Words != "a mistake" {
			t.Errorf("got notices %+v", notices)
		}
		return err
	})
}

// withStore runs f on the store of the site in dir.
func withStore(t *testing.T, dir string, f func(context.Context, *instance.Instance) error) {
	t.Helper()
	s := &cli.Site{Data: dir}
	if err := s.With(t.Context(), instance.StoreOnly, func(o *instance.Instance) error { return f(t.Context(), o) }); err != nil {
		t.Fatal(err)
	}
}
