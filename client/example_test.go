package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"concordat"
	"concordat/client"
)

// A portal submits a thesis and waits for the report.
func Example() {
	ctx := context.Background()
	c, err := client.New(client.Options{Address: "https://site.example", Token: os.Getenv("TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	open := func() (io.ReadCloser, error) { return os.Open("thesis.docx") }
	checks, err := c.Submit(ctx, client.Submission{
		Files:     []client.File{{Name: "thesis.docx", Open: open}},
		Libraries: []concordat.LibraryID{"theses"},
		Key:       "submission-4711", // submitting again after a crash creates no second check
	})
	if err != nil {
		log.Fatal(err)
	}
	done, err := c.Wait(ctx, checks[0].ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	for passage, err := range c.Evidence(ctx, done.ID) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(passage.Text, "is also in", passage.Sources[0].Title)
	}
}

// Two people can decide on one report: a person who has not seen the latest rules cannot replace them.
func ExampleClient_SetRules() {
	ctx := context.Background()
	c, err := client.New(client.Options{Address: "https://site.example", Token: os.Getenv("TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	rules, err := c.Rules(ctx, "t1")
	if err != nil {
		log.Fatal(err)
	}
	rules.Rules.ExcludeQuotes = true
	_, err = c.SetRules(ctx, "t1", rules)
	var p *client.Problem
	if errors.As(err, &p) && p.Kind() == "changed" {
		fmt.Println("somebody else was faster: read them again")
	}
}

// A webhook receiver verifies a request.
func ExampleVerify() {
	secret := os.Getenv("WEBHOOK_SECRET")
	http.HandleFunc("POST /concordat", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			return
		}
		n, err := client.Verify(secret, r.Header, body, time.Now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		log.Println(n.ID, n.Type, string(n.Data)) // skip notifications whose ID has been handled
	})
}

// A delivery signed with another secret is rejected.
func ExampleVerify_refused() {
	h := http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {"1800000000"}, "Webhook-Signature": {"v1,AAAA"}}
	_, err := client.Verify("whsec_c2VjcmV0", h, []byte("{}"), time.Unix(1_800_000_000, 0))
	fmt.Println(errors.Is(err, client.ErrSignature))
	// Output: true
}

func ExampleReader() {
	f := client.Reader("essay.txt", strings.NewReader("It is read once."))
	r, err := f.Open()
	if err != nil {
		log.Fatal(err)
	}
	b, err := io.ReadAll(r)
	fmt.Println(f.Name, string(b), err)
	// Output: essay.txt It is read once. <nil>
}
