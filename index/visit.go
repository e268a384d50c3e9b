package index

import "github.com/blevesearch/bleve/v2/index/scorch"

// visitStored calls visit with the identity and the stored fields of every live Bleve document, in no particular order. The bytes are
// valid only during the call.
//
// Copy values immediately, because zap passes their buffer to the next reader, for example the merger, as soon as VisitDocument returns.
func visitStored(s *scorch.IndexSnapshot, visit func(id []byte, fields map[string][]byte) error) error {
	fields := make(map[string][]byte, 4)
	for _, seg := range s.Segments() {
		it := seg.DocNumbersLive().Iterator()
		for it.HasNext() {
			for name, value := range fields {
				fields[name] = value[:0]
			}
			var id []byte
			err := seg.VisitDocument(uint64(it.Next()), func(name string, _ byte, value []byte, _ []uint64) bool {
				if name == "_id" {
					id = append(id, value...)
				} else if name != fieldText {
					fields[name] = append(fields[name][:0], value...)
				}
				return true
			})
			if err == nil {
				err = visit(id, fields)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// storedField returns a copy of one stored field of the Bleve document id, or nil if there is no such
// document or field.
func storedField(s *scorch.IndexSnapshot, id, name string) ([]byte, error) {
	for _, seg := range s.Segments() {
		numbers, err := seg.DocNumbers([]string{id})
		if err != nil {
			return nil, err
		}
		if numbers.IsEmpty() {
			continue
		}
		var found []byte
		err = seg.VisitDocument(uint64(numbers.Minimum()), func(n string, _ byte, value []byte, _ []uint64) bool {
			if n == name {
				found = append([]byte{}, value...)
			}
			return n != name
		})
		return found, err
	}
	return nil, nil
}
