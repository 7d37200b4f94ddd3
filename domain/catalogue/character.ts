/** Character as the characters file describes it (MODEL-11). */

export interface Character {
  /** UUID; two characters never share one. */
  id: string;
  slug: string;
  name: string;
  description: string | null;
  /** Five characters that stand for who made it. */
  author: string;
  adult: boolean;
  featured: boolean;
  /** Made for models that are reserved for paying accounts; a filter, not shown. */
  pro: boolean;
  webEnabled: boolean;
  /** Id of the text model that speaks for it. */
  modelId: string;
  tags: readonly string[];
  /** A filter, not shown. */
  categories: readonly string[];
  shareUrl: string | null;
  photoUrl: string | null;
  /** What the model is told; used when it speaks, and never shown. */
  systemPrompt: string;
  imports: number;
  ratingCount: number;
  ratingSum: number;
  /** ISO time. */
  createdAt: string;
  updatedAt: string;
}
