package sandbox

// ownNamespaces is the environment variable that tells a child to enter its own namespaces, for users, network, semaphores and
// names, before Go starts in it: a process with threads may not. The parent cannot do that when it starts the child: Go would
// then copy the page tables of the whole process, which takes a tenth of a second for a process of 500 MB.
const ownNamespaces = "CONCORDAT_OWN_NAMESPACES"
