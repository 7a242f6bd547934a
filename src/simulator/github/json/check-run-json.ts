/** A check run, as GitHub writes it. */
import type { CheckRun } from '../state/check-runs.ts'
import { fullNameOf } from '../state/repositories.ts'
import type { Pull, Thread } from '../state/threads.ts'
import type { World } from '../state/world.ts'
import { appJson } from './app-json.ts'
import { nodeId, siteUrl, type Json } from './json.ts'
import { repositoryUrl } from './repository-json.ts'
import { pullUrl } from './thread-json.ts'

export function checkRunJson(world: World, run: CheckRun): Json {
  const { id, repository, output } = run
  const url = `${repositoryUrl(repository)}/check-runs/${id}`
  const page = `${siteUrl}/${fullNameOf(repository)}/runs/${id}`
  return {
    id,
    name: run.name,
    node_id: nodeId('CR', id),
    head_sha: run.headSha,
    external_id: run.externalId,
    url,
    html_url: page,
    details_url: run.detailsUrl ?? page,
    status: run.status,
    conclusion: run.conclusion,
    started_at: run.startedAt === null ? null : world.stamp(run.startedAt),
    completed_at: run.completedAt === null ? null : world.stamp(run.completedAt),
    output: {
      ...output,
      annotations_count: run.annotations,
      annotations_url: `${url}/annotations`,
    },
    check_suite: { id: run.suiteId },
    app: world.app === null ? null : appJson(world, world.app),
    pull_requests: [...repository.threads.values()].flatMap((thread) =>
      thread.pull?.headSha === run.headSha && thread.state === 'open'
        ? [minimalPullJson(thread, thread.pull)]
        : [],
    ),
  }
}

function minimalPullJson(thread: Thread, pull: Pull): Json {
  const { repository } = thread
  const repo = { id: repository.id, url: repositoryUrl(repository), name: repository.name }
  return {
    url: pullUrl(thread),
    id: pull.id,
    number: thread.number,
    head: { ref: pull.headRef, sha: pull.headSha, repo },
    base: { ref: pull.baseRef, sha: pull.baseSha, repo },
  }
}
