/**
 * The channels to GitHub: what each declares of itself, and each at work. The one list of them: a
 * new channel is a file of its own and a line here.
 */
import type { Admission, Channel } from '../channel.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import { knownChannels } from '../domain/outbox/channel-declaration.ts'
import { allRightsOn, defaultRightsOn } from '../domain/outbox/publish-rights.ts'
import { CheckChannel } from './github-check.ts'
import { CommentChannel } from './github-comment.ts'
import { LabelChannel } from './github-label.ts'
import { ReviewChannel } from './github-review.ts'
import { StatusChannel } from './github-status.ts'
import { inRepositories } from './on-github.ts'
import type { ChannelParts } from './parts.ts'

const classes = [CommentChannel, StatusChannel, CheckChannel, LabelChannel, ReviewChannel] as const

export type ChannelName = (typeof classes)[number]['declaration']['name']

/** In the order in which a run is announced on them. */
export const githubDeclarations: readonly ChannelDeclaration[] = classes.map(
  ({ declaration }) => declaration,
)

/** For whoever shows deliveries: what the channel of each declares. */
export const channelsByName = knownChannels(githubDeclarations)

export const githubChannels: readonly ChannelName[] = classes.map(
  ({ declaration }) => declaration.name,
)

export const defaultRights = defaultRightsOn(githubDeclarations)
export const allRights = allRightsOn(githubDeclarations)

/** `admission`: as whom they act; only whoever publishes needs to know. */
export function createGitHubChannels(
  parts: ChannelParts,
  admission?: Admission,
): ReadonlyMap<string, Channel> {
  const channels = classes.map((Class) => inRepositories(new Class(parts), admission))
  return new Map(channels.map((channel) => [channel.declaration.name, channel]))
}
