package extract

// Codes of Flag. Parts that could not be read are flagged with the codes of Error.
const (
	FlagTextLimit   = "text_limit"    // the text was cut off at MaxText
	FlagPageLimit   = "page_limit"    // pages beyond MaxPages were not read
	FlagPart        = "part"          // a part of the file could not be read
	FlagHidden      = "hidden_text"   // invisible text, which is included in Text
	FlagWhite       = "white_text"    // text in the colour of the paper
	FlagTiny        = "tiny_text"     // text too small to read
	FlagOffPage     = "off_page_text" // text outside the visible page
	FlagPictures    = "pictures"      // pictures that can contain text
	FlagHeaders     = "page_headers"  // repeated page headers, footers and page numbers were left out
	FlagGlyphs      = "glyph_mapping" // the text layer is not language, because its characters differ from the displayed ones
	FlagLookAlike   = "look_alike"    // a word mixes similar-looking letters of two scripts
	FlagZeroWidth   = "zero_width"    // invisible characters between letters
	FlagBidi        = "bidi_control"  // controls that display text in an order other than the stored one
	FlagMarks       = "stacked_marks" // marks over or through letters in a way that no language uses
	FlagOrder       = "reading_order" // the words are drawn in a different order from the page's
	FlagReadings    = "readings"      // readings above or next to the base text were left out
	FlagSpaced      = "spaced_out"    // letters are spaced out, so that words are not recognised
	FlagReplacement = "replacement"   // characters that could not be decoded
	FlagGuess       = "encoding_guess"
	FlagTracked     = "tracked_changes" // deleted text of tracked changes was left out
	FlagNumbers     = "numbers"         // numbers in tables and charts were left out
	FlagMetadata    = "metadata"        // text that describes the document was left out
	// FlagAlternatives means that alternative text for programs that cannot display the main text was left out. The two texts use
	// different words.
	FlagAlternatives = "alternatives"
	FlagMacro        = "macro"      // the file contains a macro program
	FlagOCR          = "ocr"        // text from character recognition rather than the file
	FlagComments     = "comments"   // comments were left out
	FlagQuoted       = "quotation"  // unusual quotation marks around a long passage
	FlagAttachment   = "attachment" // attachments are read as members
)
