// The daemon's methods (proto/hearth/v1/*_service.proto): their paths on the wire, what they take and what they answer.
//
//   call(rpc::kStats, v1::StatsRequest());
#pragma once
#include <string_view>

#include "hearth/v1/admin_service.pb.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::client::rpc {

template <typename RequestMessage, typename ResponseMessage>
struct Method {
  using Request = RequestMessage;
  using Response = ResponseMessage;  // of a stream: each of its messages
  std::string_view path;
};

inline constexpr Method<v1::PrepareRequest, v1::PrepareEvent> kPrepare{"/hearth.v1.CompilerService/Prepare"};
inline constexpr Method<v1::FetchArtifactRequest, v1::FetchArtifactChunk> kFetchArtifact{
    "/hearth.v1.CompilerService/FetchArtifact"};
inline constexpr Method<v1::SessionRequest, v1::SessionResponse> kSession{"/hearth.v1.CompilerService/Session"};
inline constexpr Method<v1::ExplainRequest, v1::ExplainResponse> kExplain{"/hearth.v1.CompilerService/Explain"};
inline constexpr Method<v1::TuneRequest, v1::TuneEvent> kTune{"/hearth.v1.CompilerService/Tune"};
inline constexpr Method<v1::TimingAnswer, v1::TimingAnswered> kAnswerTiming{"/hearth.v1.CompilerService/AnswerTiming"};
inline constexpr Method<v1::CompileBlobRequest, v1::CompileBlobEvent> kCompileBlob{
    "/hearth.v1.CompilerService/CompileBlob"};

inline constexpr Method<v1::StatsRequest, v1::StatsResponse> kStats{"/hearth.v1.AdminService/Stats"};
inline constexpr Method<v1::CacheListRequest, v1::CacheListResponse> kCacheList{"/hearth.v1.AdminService/CacheList"};
inline constexpr Method<v1::CacheVerifyRequest, v1::CacheVerifyResponse> kCacheVerify{
    "/hearth.v1.AdminService/CacheVerify"};
inline constexpr Method<v1::CacheClearRequest, v1::CacheClearResponse> kCacheClear{
    "/hearth.v1.AdminService/CacheClear"};
inline constexpr Method<v1::RemoteCheckRequest, v1::RemoteCheckResponse> kRemoteCheck{
    "/hearth.v1.AdminService/RemoteCheck"};
inline constexpr Method<v1::RemoveModelRequest, v1::RemoveModelResponse> kRemoveModel{
    "/hearth.v1.AdminService/RemoveModel"};
inline constexpr Method<v1::RemoveBlobsRequest, v1::RemoveBlobsResponse> kRemoveBlobs{
    "/hearth.v1.AdminService/RemoveBlobs"};
inline constexpr Method<v1::ExportPackRequest, v1::ExportPackResponse> kExportPack{
    "/hearth.v1.AdminService/ExportPack"};
inline constexpr Method<v1::ImportEntryRequest, v1::ImportEntryResponse> kImportEntry{
    "/hearth.v1.AdminService/ImportEntry"};
inline constexpr Method<v1::ListPacksRequest, v1::ListPacksResponse> kListPacks{"/hearth.v1.AdminService/ListPacks"};
inline constexpr Method<v1::ShutdownRequest, v1::ShutdownResponse> kShutdown{"/hearth.v1.AdminService/Shutdown"};

}  // namespace hearth::client::rpc
