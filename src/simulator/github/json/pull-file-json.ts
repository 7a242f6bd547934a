/** A changed file of a pull request, as GitHub writes it. */
import { createHash } from 'node:crypto'
import { fullNameOf } from '../state/repositories.ts'
import type { PullFile } from '../state/pull-files.ts'
import type { Pull, Thread } from '../state/threads.ts'
import { siteUrl, type Json } from './json.ts'
import { repositoryUrl } from './repository-json.ts'

export function pullFileJson({ repository }: Thread, { headSha }: Pull, file: PullFile): Json {
  const { filename, status, patch, previousFilename, additions, deletions } = file
  const path = encodeURIComponent(filename)
  const page = `${siteUrl}/${fullNameOf(repository)}`
  return {
    sha: createHash('sha1')
      .update(JSON.stringify([filename, status, patch]))
      .digest('hex'),
    filename,
    status,
    additions,
    deletions,
    changes: additions + deletions,
    blob_url: `${page}/blob/${headSha}/${path}`,
    raw_url: `${page}/raw/${headSha}/${path}`,
    contents_url: `${repositoryUrl(repository)}/contents/${path}?ref=${headSha}`,
    ...(patch !== null && { patch }),
    ...(previousFilename !== null && { previous_filename: previousFilename }),
  }
}
