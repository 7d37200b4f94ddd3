/** Character as the characters file describes it (MODEL-11). */

export interface Character {
  /** Unique UUID. */
  id: string;
  slug: string;
  name: string;
  description: string | null;
  /** Five characters that identify the author. */
  author: string;
  adult: boolean;
  featured: boolean;
  /** For models that are reserved for paying accounts; a filter, not shown. */
  pro: boolean;
  webEnabled: boolean;
  /** Id of its text model. */
  modelId: string;
  tags: readonly string[];
  /** A filter, not shown. */
  categories: readonly string[];
  shareUrl: string | null;
  photoUrl: string | null;
  /** System prompt of the model, never shown. */
  systemPrompt: string;
  imports: number;
  ratingCount: number;
  ratingSum: number;
  /** ISO time. */
  createdAt: string;
  updatedAt: string;
}
