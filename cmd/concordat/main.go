// Command concordat runs one site. It keeps libraries of documents, checks submissions against them, and writes evidence reports.
// "concordat help" lists the commands.
package main

import "concordat/cmd/concordat/program"

func main() { program.Main() }
