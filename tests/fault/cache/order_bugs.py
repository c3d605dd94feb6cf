"""What tests/support/plant_bugs.py plants in the order of the cache's durable writes."""
FOLDER = "kernels_cache"
FILES = ["cas_store.cpp", "kernels_cache.cpp", "action_cache.cpp"]
BUGS = [
    ("cas_store.cpp", "a file is renamed before it is written through",
     "if (status.ok()) status = file_system_.sync(fd);", "if (status.ok() && !BUG) status = file_system_.sync(fd);"),
    ("cas_store.cpp", "the folder is not written through after the rename",
     "status = file_system_.sync_dir(shard_dir(digest[0]));",
     "if (!BUG) status = file_system_.sync_dir(shard_dir(digest[0]));"),
    ("cas_store.cpp", "the folder is written through before the rename, not after it",
     "if (status.ok()) status = write_temp(temp, bytes);",
     "if (status.ok()) status = write_temp(temp, bytes); if (BUG) { file_system_.sync_dir(shard_dir(digest[0])).IgnoreError();"
     " return file_system_.rename_file(temp, path); }"),
    ("cas_store.cpp", "a new shard is not written through",
     'if (status.ok()) status = file_system_.sync_dir(dir_ + "/cas");',
     'if (status.ok() && !BUG) status = file_system_.sync_dir(dir_ + "/cas");'),
    ("kernels_cache.cpp", "the index names a file before the file is there",
     "absl::Status written = cas_->write(fresh, fresh_bytes);",
     "if (BUG) with_index([&](ActionCache& index) { return index.put(row); }).IgnoreError();"
     " absl::Status written = cas_->write(fresh, fresh_bytes);"),
    ("kernels_cache.cpp", "the intent is gone before the index is committed",
     "absl::StatusOr<Pin> pin = written.ok() ? commit(row, fresh_bytes) : written;",
     "if (BUG) cas_->end_intent(*intent); absl::StatusOr<Pin> pin = written.ok() ? commit(row, fresh_bytes) : written;"),
    ("action_cache.cpp", "the index is committed without being written through",
     "if (status.ok()) status = index->load_totals();",
     'if (status.ok() && BUG) status = index->writer_->execute("PRAGMA synchronous = NORMAL");'
     " if (status.ok()) status = index->load_totals();"),
]
