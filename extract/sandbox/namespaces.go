package sandbox

// ownNamespaces is the environment variable that asks a child to go into namespaces of its own, of users, network,
// semaphores and names, before Go starts in it: a process with threads may not. The parent cannot do it for the child
// as it starts it: Go would then copy the page tables of the whole process, which takes a tenth of a second from one of 500 MB.
const ownNamespaces = "CONCORDAT_OWN_NAMESPACES"
