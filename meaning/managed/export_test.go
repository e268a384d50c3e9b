package managed

// Know makes Install accept a file of that digest as one of the package.
func Know(digest string) { wheels[digest] = "test" }
