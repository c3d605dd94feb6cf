// Nothing: the targets that precompile the headers of this folder need a source.
