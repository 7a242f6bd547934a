/** The channels to GitHub, by name. */
import type { Channel } from '../channel.ts'
import type { ChannelName } from '../domain/outbox/delivery.ts'
import { CheckChannel } from './github-check.ts'
import { CommentChannel } from './github-comment.ts'
import { LabelChannel } from './github-label.ts'
import { ReviewChannel } from './github-review.ts'
import { StatusChannel } from './github-status.ts'
import type { ChannelParts } from './parts.ts'

export function createGitHubChannels(parts: ChannelParts): ReadonlyMap<ChannelName, Channel> {
  const channels: readonly Channel[] = [
    new CommentChannel(parts),
    new StatusChannel(parts),
    new CheckChannel(parts),
    new LabelChannel(parts),
    new ReviewChannel(parts),
  ]
  return new Map(channels.map((channel) => [channel.name, channel]))
}
