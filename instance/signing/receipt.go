package signing

import (
	"time"

	"concordat"
)

// KindReceipt is the kind of statement that signs a receipt.
const KindReceipt = "erasure"

// ReceiptSignature is the signature of a receipt.
type ReceiptSignature struct {
	Site      concordat.SiteID `json:"site"`
	KeyEpoch  uint32           `json:"key_epoch"`
	At        time.Time        `json:"at"`
	Sum       []byte           `json:"sum"` // SHA-256 of the receipt without signature and reason
	Signature []byte           `json:"signature"`
}
