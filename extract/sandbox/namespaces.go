package sandbox

// ownNamespaces is the environment variable that makes a child enter separate namespaces for users, network, semaphores and names before
// Go starts in it, since a process with threads cannot do so. The parent cannot do this when it starts the child, because Go would then
// copy the page tables of the whole process, which takes a tenth of a second for a process of 500 MB.
const ownNamespaces = "CONCORDAT_OWN_NAMESPACES"
