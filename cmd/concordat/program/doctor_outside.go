package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/extract/sandbox"
	"concordat/federation"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/partners"
	"concordat/profile"
	"concordat/report"
	"concordat/report/pdf"
	"concordat/store"
)

// sampleTitle appears in the sample report that doctor creates and reads. It requires both fonts, and a dictionary that contains its
// words.
const sampleTitle = "Concordat 检查中文分词和字体"

// extraction creates a PDF with the program's fonts and has a child process read it.
func (d *doctor) extraction(ctx context.Context, c *config.Config) {
	p, err := profile.New(profile.Options{Recipe: c.Scheme})
	if err == nil {
		_, err = p.ForIndex(concordat.Document{Library: "l", ID: "d", Text: strings.Repeat(sampleTitle+"。", 30)})
	}
	if err != nil {
		d.fault("dictionary", "the program is damaged: reinstall it", err)
	} else {
		d.ok("dictionary", "Chinese text can be split into words")
	}
	pages, err := pdf.Write(&report.Report{Submission: concordat.Document{Title: sampleTitle, Text: sampleTitle}},
		pdf.Options{Site: "doctor", Program: instance.Version()})
	if err != nil {
		d.fault("fonts", "the program is damaged: reinstall it", err)
		return
	}
	d.ok("fonts", "PDF reports can be created")
	d.ocr(ctx, c.Extract.OCR)
	d.office()
	options := instance.Extraction(c)
	options.OCR, options.RequireIsolation = nil, true
	r := instance.NewReader(options, 1)
	defer func() { _ = r.Close() }() // the child has answered or was killed
	runner, err := r.Start()
	if err != nil {
		d.warning("extraction",
			"run the site on a kernel with Landlock and seccomp (Linux 5.13 or later): otherwise, a malicious file could take over the process that reads it and gain access to the site's data", "%v", err)
		options.RequireIsolation = false
		weak := instance.NewReader(options, 1)
		defer func() { _ = weak.Close() }()
		if runner, err = weak.Start(); err != nil {
			d.fault("extraction", "files cannot be read: check this user's limits on memory and processes", err)
			return
		}
	}
	items, err := runner.Stream(ctx, "doctor.pdf", bytes.NewReader(pages), int64(len(pages)))
	switch {
	case err != nil:
		d.fault("extraction", "PDF files cannot be read: check this user's limits on memory and processes", err)
	case len(items) != 1 || items[0].Result == nil:
		d.fault("extraction", "PDF files cannot be read: check this user's limits on memory and processes",
			fmt.Errorf("unexpected result from the process that reads files: %v", items))
	case !strings.Contains(strings.Join(strings.Fields(items[0].Result.Text), ""), strings.Join(strings.Fields(sampleTitle), "")):
		d.fault("extraction", "the program is damaged: reinstall it", errors.New("the test PDF was read incorrectly"))
	default:
		d.ok("extraction", "a separate process can read a PDF")
	}
}

// office looks for LibreOffice, which is optional.
func (d *doctor) office() {
	switch _, err := sandbox.FindOffice(sandbox.OfficeOptions{}); {
	case err == nil:
		d.ok("pages", "LibreOffice renders the pages of DOCX and ODT files for the As laid out view")
	case errors.Is(err, sandbox.ErrNoOffice):
		d.skipped("pages", "LibreOffice is not installed: reports on DOCX and ODT files show only the text; reports on PDF files do not need LibreOffice")
	default:
		d.warning("pages", "reports on DOCX and ODT files show only the text", "%v", err)
	}
}

// ocr looks for Tesseract and the languages required by the configuration.
func (d *doctor) ocr(ctx context.Context, languages string) {
	if languages == "" {
		d.skipped("ocr", "extract.ocr is empty: pages without a text layer are not read")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tesseract", "--list-langs").CombinedOutput()
	if err != nil {
		d.fault("ocr", "install Tesseract, or clear extract.ocr", err)
		return
	}
	have := strings.Fields(string(out))
	for l := range strings.SplitSeq(languages, "+") {
		if !slices.Contains(have, l) {
			d.fault("ocr", "install the data for the language, such as tesseract-ocr-"+strings.ReplaceAll(l, "_", "-"), fmt.Errorf("tesseract has no data for language %s", l))
			return
		}
	}
	d.ok("ocr", "Tesseract can read the languages %s", languages)
}

// keys examines the keystore, the card and the partners.
func (d *doctor) keys(ctx context.Context, o *instance.Instance) {
	_, id, err := d.a.OpenKeys(d.dir)
	if errors.Is(err, instance.ErrNoKeys) {
		d.skipped("keys", "the site has no keys, so its reports are not signed; concordat serve or concordat site key init creates the keys")
		if ps, err := o.Store.Partners.Partners(ctx); err == nil && len(ps) > 0 {
			d.fault("partners", "restore the keystore from a backup", fmt.Errorf("there are %d partners but no keystore", len(ps)))
		}
		return
	}
	if errors.Is(err, crypto.ErrFormat) {
		d.fault("keys", "restore the keystore from a backup, or start again with the exported root key: concordat site key init --root FILE", err)
		return
	}
	if err != nil {
		d.fault("keys", "provide the key of the keystore with "+instance.KeyFileVariable+" or "+instance.PassphraseVariable, err)
		return
	}
	for _, kind := range []string{"signing", "sealing", "tls"} {
		if !slices.ContainsFunc(id.Keys(d.now), func(k crypto.KeyTerm) bool { return k.Kind == kind && k.InForce && k.Held }) {
			d.fault("keys", "create a new card with concordat site card --renew", fmt.Errorf("no %s key is currently valid", kind))
		}
	}
	d.ok("keys", "the keystore belongs to site %s", id.Site())
	if k, err := o.Keys.State(ctx); err == nil && k.Root && k.Exported.IsZero() {
		d.warning("root key", "keep a copy elsewhere with concordat site key export-root FILE --keep",
			"the root key exists only in the keystore: if the keystore is lost, no one can prove any longer that this site signed its reports")
	}
	card, err := instance.OwnCard(ctx, o.Store, id)
	switch detail, fault := instance.CardState(card, err, d.now); {
	case fault == nil:
		d.ok("card", "the site's card is valid until %s", detail)
	case card == nil && err == nil:
		d.skipped("card", "the site has no card, so partners do not know the site")
		return
	case card != nil && card.Valid(d.now) == nil:
		d.warning("card", "renew the card with concordat site card --renew", "%v", fault)
	default:
		d.fault("card", "renew the card with concordat site card --renew", fault)
		return
	}
	d.partners(ctx, o, id)
}

// partners asks each active partner for the head of its audit log, which also reveals the partner's clock.
func (d *doctor) partners(ctx context.Context, o *instance.Instance, id *crypto.Identity) {
	ps, err := o.Store.Partners.Partners(ctx)
	if err != nil {
		d.fault("partners", "", err)
		return
	}
	active := 0
	for _, p := range ps {
		if p.State != store.PartnerActive {
			continue
		}
		active++
		if !d.o.offline {
			d.partner(ctx, o, id, p)
		}
	}
	switch {
	case active == 0:
		d.skipped("partners", "no partners")
	case d.o.offline:
		d.skipped("partners", "%d partners were not contacted because --offline is set", active)
	}
}

func (d *doctor) partner(ctx context.Context, o *instance.Instance, id *crypto.Identity, p store.Partner) {
	const advice = "contact the partner's administrator; reports list an unreachable partner as not asked"
	r, err := d.a.Roster(ctx, o, id)
	if err != nil {
		d.fault("partners", "", err)
		return
	}
	site, err := crypto.ParseSiteID(string(p.Site))
	if err != nil {
		d.fault("partners", "", err)
		return
	}
	c := federation.NewClient(site, r, id.LocalKey(partners.OrderPurpose), federation.ClientOptions{Timeout: d.o.timeout,
		Allow: o.Config.Federation.Allow, Journal: r})
	defer c.Close()
	began := time.Now()
	h, err := c.Head(ctx)
	switch {
	case err != nil:
		d.warning("partners", advice, "%s: %v", p.Site, err)
	case time.Until(h.At) > crypto.Skew || began.Sub(h.At) > crypto.Skew+time.Minute: // a head can be a minute old
		d.warning("clock", "compare both clocks with a third clock; messages are refused if the clocks differ by more than two minutes", "the clock of partner %s shows %s", p.Site,
			h.At.Local().Format(time.DateTime))
	default:
		d.ok("partners", "partner %s is responding; its audit ends with entry %d", p.Site, h.Seq)
	}
}
