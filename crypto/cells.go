package crypto

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// CellKey returns the key with which members of the epoch encrypt the meaning cells that they send.
func (e FederationEpoch) CellKey() []byte { return e.derive("cells", "") }

// Geometry of CellCipher, in which each round changes one half of a cell depending on the other.
const (
	cellBits    = 20
	halfBits    = cellBits / 2
	halfMask    = 1<<halfBits - 1
	cellRounds  = 10 // as in FF1 (NIST SP 800-38G, section 5.1)
	maxCellBand = 255
)

// CellCipher replaces each meaning cell in a message with another cell of 20 bits, and reverses this. It is a Feistel network (Luby and
// Rackoff 1988) whose rounds are AES-256 under a key of the epoch and the job. Each place in the message has its own permutation, so
// equal cells, in one message or in two, get different replacements. Without the epoch's secret, a cell cannot be looked up and its
// occurrences cannot be counted. It is safe for concurrent use.
type CellCipher struct{ block cipher.Block }

// NewCellCipher returns the permutations for the message of a job. key is the result of FederationEpoch.CellKey.
func NewCellCipher(key []byte, job [16]byte) (*CellCipher, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("cell key has %d bytes, want 32", len(key))
	}
	k, err := hkdf.Key(sha256.New, key, []byte(labelCells), string(job[:]), 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(k)
	if err != nil {
		return nil, err
	}
	return &CellCipher{block}, nil
}

// Seal returns the replacement for a band's cell at a place in the message. at is at least 0, band is 0 to 255, and cell is below 2^20;
// higher bits are ignored.
func (c *CellCipher) Seal(at, band int, cell uint32) uint32 {
	in, out := blocks(at, band)
	left, right := cell>>halfBits&halfMask, cell&halfMask
	for round := range cellRounds {
		left, right = right, left^c.round(in, out, round, right)
	}
	return left<<halfBits | right
}

// Open reverses Seal.
func (c *CellCipher) Open(at, band int, cell uint32) uint32 {
	in, out := blocks(at, band)
	left, right := cell>>halfBits&halfMask, cell&halfMask
	for round := cellRounds - 1; round >= 0; round-- {
		left, right = right^c.round(in, out, round, left), left
	}
	return left<<halfBits | right
}

// blocks returns a block that contains place and band, and one for its encryption.
func blocks(at, band int) (in, out []byte) {
	b := make([]byte, 2*aes.BlockSize)
	in, out = b[:aes.BlockSize], b[aes.BlockSize:]
	binary.BigEndian.PutUint64(in, uint64(at))
	in[8] = byte(band & maxCellBand)
	return in, out
}

// round returns the value of the round function: 10 bits of the AES encryption of place (8 bytes), band (1), round (1), 2 zero bytes
// and half (4).
func (c *CellCipher) round(in, out []byte, round int, half uint32) uint32 {
	in[9] = byte(round)
	binary.BigEndian.PutUint32(in[12:], half)
	c.block.Encrypt(out, in)
	return binary.BigEndian.Uint32(out) & halfMask
}
