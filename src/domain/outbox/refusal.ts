/**
 * The answer in the thread when a comment asked for work and was refused. There is one message for
 * each comment, however many types refused it.
 */
import type { Run } from '../run.ts'
import { localeOf } from './anchor-view.ts'
import type { WantedOutput } from './announce.ts'
import type { KnownChannels } from './channel-declaration.ts'
import { wordsOf } from './words/words-of.ts'

export const headNewerThanComment = 'head-newer-than-comment'

/** The comment or review that asked for work. */
export interface AskingComment {
  readonly id: number
  readonly writtenAt: number
  readonly author: string
}

export function refusalTarget(repositoryId: string, { id }: AskingComment): string {
  return `refusal ${repositoryId} comment ${id}`
}

/** Null if no channel can write text to a thread. */
export function refusalOutput(
  run: Run,
  repositoryId: string,
  comment: AskingComment,
  channels: KnownChannels,
): WantedOutput | null {
  const channel = channels.all.find((each) => each.replyContent !== undefined)
  if (channel?.replyContent === undefined) return null
  const words = wordsOf(localeOf(run.locale))
  const author = comment.author.replaceAll(/[^\w[\]-]/g, '')
  const time = new Date(comment.writtenAt).toISOString().slice(11, 19)
  const body = words.headNewer(run.type, run.headSha?.slice(0, 7) ?? '', author, `${time} UTC`)
  return {
    channel,
    kind: 'message',
    // The name contains a space, so no run can use it for its own output.
    name: `refusal ${comment.id}`,
    target: refusalTarget(repositoryId, comment),
    markerText: `refusal\n${run.subject}\ncomment ${comment.id}`,
    thread: run.pr,
    sha: null,
    content: channel.replyContent(body),
    final: true,
    announces: false,
    claim: 'take',
    closesOnly: false,
  }
}
