package extract

// Codes of Flag. The codes of Error are used too, for a part that could not be read.
const (
	FlagTextLimit   = "text_limit"    // the text was cut off at MaxText
	FlagPageLimit   = "page_limit"    // pages after MaxPages were not read
	FlagPart        = "part"          // a part of the file could not be read
	FlagHidden      = "hidden_text"   // text that is not shown; it is in Text
	FlagWhite       = "white_text"    // text in the colour of the paper
	FlagTiny        = "tiny_text"     // text too small to read
	FlagOffPage     = "off_page_text" // text outside the visible page
	FlagPictures    = "pictures"      // pictures that may hold text
	FlagHeaders     = "page_headers"  // repeated page headers, footers and page numbers were left out
	FlagGlyphs      = "glyph_mapping" // the text layer is not language: its characters differ from what is seen
	FlagLookAlike   = "look_alike"    // a word mixes letters of two scripts that look alike
	FlagZeroWidth   = "zero_width"    // invisible characters between letters
	FlagBidi        = "bidi_control"  // controls that show text in an order other than the stored one
	FlagMarks       = "stacked_marks" // marks over or through letters that no language sets there
	FlagOrder       = "reading_order" // the file draws its words in an order other than that on the page
	FlagReadings    = "readings"      // readings above or next to the base text were left out
	FlagSpaced      = "spaced_out"    // letters are spaced out, so words are not recognised as words
	FlagReplacement = "replacement"   // characters that could not be decoded
	FlagGuess       = "encoding_guess"
	FlagTracked     = "tracked_changes" // deleted text of tracked changes was left out
	FlagNumbers     = "numbers"         // numbers of tables and charts were left out
	FlagMetadata    = "metadata"        // text that describes the document was left out
	// FlagAlternatives: alternative text for programs that cannot show the main text was left out. Its words differ.
	FlagAlternatives = "alternatives"
	FlagMacro        = "macro"      // the file holds a macro program
	FlagOCR          = "ocr"        // text by character recognition, not from the file
	FlagComments     = "comments"   // comments were left out
	FlagQuoted       = "quotation"  // unusual quotation marks around a long passage
	FlagAttachment   = "attachment" // attachments are read as members
)
