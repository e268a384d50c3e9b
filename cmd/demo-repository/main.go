// Command demo-repository serves the small repository that the demonstration harvests; see demo/run.sh.
package main

import "concordat/demo/repository"

func main() { repository.Main() }
