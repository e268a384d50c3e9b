package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"concordat"
	"concordat/store/engine"
)

// TextHash returns the hexadecimal SHA-256 of a text.
func TextHash(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// FingerprintsForm returns the name of the form in which an epoch's fingerprints expose a sentence to a partner.
func FingerprintsForm(e concordat.Epoch, s concordat.Scheme) string {
	return "fingerprints " + e.String() + " " + string(s)
}

// SentenceDigest identifies a sentence by its letters and digits alone, for the record of exposures to partners ([Asks.Expose]).
func SentenceDigest(sentence string) Digest {
	h := sha256.New()
	h.Write([]byte("concordat/exposure/1\x00"))
	h.Write([]byte(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, sentence)))
	return Digest(h.Sum(nil)[:len(Digest{})])
}

// PutSentenceVectors stores vectors, replacing those with the same digests, and deletes the oldest ones beyond most. A vector is not
// stored if its document or task is gone.
func (db *Checks) PutSentenceVectors(ctx context.Context, vectors []concordat.SentenceVector, most int) error {
	err := db.write(ctx, func(c engine.Conn) error {
		const columns, again = `INSERT INTO sentence_vector (digest, library, document, task, vector) `,
			` ON CONFLICT (digest) DO UPDATE SET vector = excluded.vector`
		for _, v := range vectors {
			var err error
			digest, packed := v.Digest[:], packVector(v.Vector)
			switch {
			case v.Of.Document != "":
				_, err = c.Exec(ctx, columns+`SELECT ?, library, id, NULL, ? FROM document WHERE library = ? AND id = ?`+again, digest, packed,
					v.Of.Library, v.Of.Document)
			case v.Task != "":
				_, err = c.Exec(ctx, columns+`SELECT ?, NULL, NULL, id, ? FROM task WHERE id = ?`+again, digest, packed, v.Task)
			default:
				_, err = c.Exec(ctx, columns+`VALUES (?, NULL, NULL, NULL, ?)`+again, digest, packed)
			}
			if err != nil {
				return err
			}
		}
		_, err := c.Exec(ctx, `DELETE FROM sentence_vector WHERE seq <= (SELECT MAX(seq) FROM sentence_vector) - ?`, most)
		return err
	})
	return db.fail(err, "store %d vectors", len(vectors))
}

// maxDigests is the maximum number of vectors per request.
const maxDigests = 500

// SentenceVectors returns the stored vectors, by digest.
func (db *Checks) SentenceVectors(ctx context.Context, digests [][32]byte) (map[[32]byte][]float32, error) {
	out := map[[32]byte][]float32{}
	for part := range slices.Chunk(digests, maxDigests) {
		args := make([]any, len(part))
		for i := range part {
			args[i] = part[i][:]
		}
		type row struct{ digest, vector []byte }
		rows, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (r row, err error) {
			return r, s.Scan(&r.digest, &r.vector)
		}, `SELECT digest, vector FROM sentence_vector WHERE digest IN (?`+strings.Repeat(`, ?`, len(part)-1)+`)`, args...)
		for _, r := range rows {
			if err == nil && (len(r.digest) != sha256.Size || len(r.vector)%2 != 0) {
				err = fmt.Errorf("%w: the length of a digest (%d bytes) or of its vector (%d bytes) is wrong", concordat.ErrCorrupt, len(r.digest), len(r.vector))
			}
			if err == nil {
				out[[32]byte(r.digest)] = unpackVector(r.vector)
			}
		}
		if err != nil {
			return nil, db.fail(err, "get the vectors of %d sentences", len(digests))
		}
	}
	return out, nil
}

// packVector encodes a vector of length 1 in two bytes per number, accurate to 0.00002.
func packVector(v []float32) []byte {
	out := make([]byte, 0, 2*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(math.Round(float64(min(max(x, -1), 1))*math.MaxInt16))))
	}
	return out
}

// unpackVector is the inverse of packVector.
func unpackVector(b []byte) []float32 {
	out := make([]float32, len(b)/2)
	for i := range out {
		out[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / math.MaxInt16
	}
	return out
}
