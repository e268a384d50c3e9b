// Package sharing implements the commands about what sites see of each other's documents: shares of libraries, requests to read passages
// and decisions on them, and the record of what was shown. The packages site/answer and site/ask do the work. Start from [AnswerCommands]
// and [RevealCommand].
package sharing

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
