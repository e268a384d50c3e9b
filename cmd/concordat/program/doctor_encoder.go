package program

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"concordat/instance"
	"concordat/instance/config"
	"concordat/meaning"
	"concordat/meaning/managed"
)

// encoder sends the samples to the encoder and reports its speed and quality.
func (d *doctor) encoder(ctx context.Context, c *config.Config) {
	e, err := instance.NewEncoder(d.dir, c, slog.New(slog.DiscardHandler))
	if err != nil {
		d.fault("encoder", "correct the value of meaning.encoder", err)
		return
	}
	if e == nil {
		return
	}
	if own, ok := e.(*managed.Encoder); ok {
		defer func() {
			if s := own.Status(); s.Phase == managed.Ready && !s.Alone {
				d.warning("encoder_alone", "allow unprivileged user namespaces if the encoder must have no network access", "the encoder has access to this machine's network")
			}
			_ = own.Close() // stops it; never fails
		}()
	}
	if where := e.Where(); where != "" {
		d.warning("encoder_text", "to keep texts on this machine, run the encoder here",
			"sentences of submissions and documents are sent to %s, as meaning.encoder.allow_text_to_leave allows", where)
	} else {
		d.ok("encoder_text", "sentences stay on this machine")
	}
	if d.o.offline {
		d.skipped("encoder", "the encoder was not contacted because --offline is set")
		return
	}
	var texts []string
	for _, s := range meaning.Samples() {
		texts = append(texts, s.Text)
	}
	began := time.Now()
	vectors, _, err := e.Encode(ctx, texts)
	if err != nil {
		d.warning("encoder", "start the encoder server, or fix meaning.encoder; until then, leads come from the embedded table, which finds fewer leads", "%v", err)
		return
	}
	each := time.Since(began) / time.Duration(len(texts))
	var worth []string
	right, asked := 0, 0
	for _, w := range meaning.WorthOf(vectors) {
		worth = append(worth, fmt.Sprintf("%s-%s %d of %d", w.Languages[0], w.Languages[1], w.Right, w.Asked))
		right, asked = right+w.Right, asked+w.Asked
	}
	told := fmt.Sprintf("%s: vectors of %d numbers, %s per sentence; recognizes the sentence with the same meaning: %s", cmp.Or(e.Name(), "the server"),
		len(vectors[0]), each.Round(time.Microsecond), strings.Join(worth, ", "))
	if 4*right < 3*asked {
		d.warning("encoder", "use a multilingual model made for comparing sentences, with the prefix that it expects", "%s", told)
		return
	}
	d.ok("encoder", "%s", told)
}
